"""Ed25519 (RFC 8032, section 5.1) in plain integers: slow, leaking its key to whoever has a clock, and independent of
the library that isobit signs with. The vectors of the RFC are in encoder_test.py."""
import hashlib

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
NEUTRAL = (0, 1, 1, 0)


def _add(a, b):
    """Extended coordinates (X, Y, Z, T) with x = X/Z, y = Y/Z, xy = T/Z."""
    A, B = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    C, Z = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    E, F, G, H = B - A, Z - C, Z + C, B + A
    return E * F % P, G * H % P, F * G % P, E * H % P


def _base():
    y = 4 * pow(5, P - 2, P) % P
    x2 = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(x2, (P + 3) // 8, P)
    if (x * x - x2) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    return x if x % 2 == 0 else P - x, y


def _powers():
    """multiples[i][d] = d * 16^i * base."""
    x, y = _base()
    point, rows = (x, y, 1, x * y % P), []
    for _ in range(64):
        row = [NEUTRAL]
        for _ in range(15):
            row.append(_add(row[-1], point))
        rows.append(row)
        point = _add(row[-1], point)
    return rows


_MULTIPLES = _powers()


def _times_base(n):
    out = NEUTRAL
    for i in range(64):
        out = _add(out, _MULTIPLES[i][n >> 4 * i & 15])
    return out


def _packed(point):
    z = pow(point[2], P - 2, P)
    x, y = point[0] * z % P, point[1] * z % P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def _hash(*parts):
    return int.from_bytes(hashlib.sha512(b"".join(parts)).digest(), "little")


class Key:
    """A secret key from its seed of 32 bytes."""

    def __init__(self, seed):
        self.seed = seed
        expanded = hashlib.sha512(seed).digest()
        self._scalar = int.from_bytes(expanded[:32], "little") & ~7 & (1 << 254) - 1 | 1 << 254
        self._prefix = expanded[32:]
        self.public = _packed(_times_base(self._scalar))

    def sign(self, message):
        r = _hash(self._prefix, message) % L
        nonce = _packed(_times_base(r))
        s = (r + _hash(nonce, self.public, message) * self._scalar) % L
        return nonce + s.to_bytes(32, "little")

    def secret_file(self):
        """docs/formats/signature.md."""
        return b"isobit-ed25519-secret-1 " + self.seed.hex().encode() + b"\n"

    def public_file(self):
        return b"isobit-ed25519-public-1 " + self.public.hex().encode() + b"\n"


def malleated(signature):
    """S + L in place of S: the same equation holds, and every verifier of today must refuse it."""
    s = int.from_bytes(signature[32:], "little") + L
    return signature[:32] + s.to_bytes(32, "little")
