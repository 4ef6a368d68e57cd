#!/usr/bin/env python3
"""Coefficients of the polynomials and constants of isobit/numerics/functions_impl*.h.

Each is the Chebyshev interpolant of the function named in its comment, expanded in powers, rounded to float64, or
its first coefficients to a pair of float64 numbers. Prints C++ arrays and the largest error (before rounding in
evaluation): first those of functions_coefficients.h, then those of functions_coefficients_pair.h. Needs mpmath.
"""
import mpmath as mp

mp.mp.dps = 80


def chebyshev(f, a, b, degree):
    """Powers-of-x coefficients of the interpolant of f at the Chebyshev nodes of [a, b]."""
    n = degree + 1
    nodes = [mp.cos(mp.pi * (2 * j + 1) / (2 * n)) for j in range(n)]
    values = [f((a + b) / 2 + (b - a) / 2 * t) for t in nodes]
    c = [2 * mp.fsum(values[j] * mp.cos(mp.pi * k * (2 * j + 1) / (2 * n)) for j in range(n)) / n for k in range(n)]
    c[0] /= 2
    # Sum of c[k] T_k(t) as powers of t, then t = scale * x + shift.
    t_prev, t_cur, powers = [mp.mpf(1)], [mp.mpf(0), mp.mpf(1)], [c[0]] + [mp.mpf(0)] * degree
    for k in range(1, n):
        for i, v in enumerate(t_cur):
            powers[i] += c[k] * v
        t_next = [mp.mpf(0)] + [2 * v for v in t_cur]
        for i, v in enumerate(t_prev):
            t_next[i] -= v
        t_prev, t_cur = t_cur, t_next
    scale, shift = 2 / (b - a), -(a + b) / (b - a)
    out = [mp.mpf(0)]
    for p in reversed(powers):  # Horner with polynomials
        new = [mp.mpf(0)] * (len(out) + 1)
        for i, v in enumerate(out):
            new[i] += v * shift
            new[i + 1] += v * scale
        new[0] += p
        out = new
    return out[:n]


def emit(name, comment, f, a, b, degree, weight=lambda x: mp.mpf(1)):
    """weight(x) turns an error of the polynomial into an error relative to the function's result."""
    a, b = mp.mpf(a), mp.mpf(b)
    coefficients = [float(c) for c in chebyshev(f, a, b, degree)]
    worst = max(abs(mp.polyval([mp.mpf(c) for c in reversed(coefficients)], x) - f(x)) * weight(x)
                for x in (a + (b - a) * (mp.mpf(i) + mp.mpf(1) / 3) / 400 for i in range(400)))
    print(f"// {comment}; degree {degree}, relative error 2^{float(mp.log(worst, 2)):.1f}")
    print(f"static constexpr double {name}[] = {{" + ", ".join(c.hex() for c in coefficients) + "};")


def parts(x, *bits):
    """x cut into numbers of so many bits, the last rounded to a float64."""
    out = []
    for b in bits:
        shift = b - 1 - int(mp.floor(mp.log(abs(x), 2)))
        out.append(mp.mpf(int(mp.floor(abs(x) * mp.mpf(2)**shift))) / mp.mpf(2)**shift * mp.sign(x))
        x -= out[-1]
    return [float(v).hex() for v in out] + [float(x).hex()]


def pair(x):
    high = float(x)
    return f"{{{high.hex()}, {float(x - high).hex()}}}"


def emit_pairs(name, comment, f, a, b, degree, pairs, weight):
    """As emit, but the first `pairs` coefficients are pairs; the error printed is that before rounding them."""
    a, b = mp.mpf(a), mp.mpf(b)
    exact = chebyshev(f, a, b, degree)
    worst = max(abs(mp.polyval(exact[::-1], x) - f(x)) * weight(x)
                for x in (a + (b - a) * (mp.mpf(i) + mp.mpf(1) / 3) / 100 for i in range(100)))
    print(f"// {comment}; degree {degree}, relative error 2^{float(mp.log(worst, 2)):.1f}")
    values = [pair(c) if i < pairs else f"{{{float(c).hex()}, 0}}" for i, c in enumerate(exact)]
    print(f"static constexpr Pair {name}[] = {{" + ", ".join(values) + "};")


def taylor(term, x):
    total, k = mp.mpf(0), 0
    while True:
        t = term(k, x)
        total += t
        k += 1
        if abs(t) < mp.mpf(10) ** -75 * max(abs(total), mp.mpf(10) ** -75) and k > 3:
            return total


HALF_LN2 = mp.log(2) / 2 * mp.mpf("1.0001")
QUARTER_PI_SQUARED = (mp.pi / 4 * mp.mpf("1.0001")) ** 2


def tail(x):
    """Phi(-x) * exp(x^2 / 2) * (x + 1): nearly constant, so that powers do not cancel"""
    return mp.erfc(x / mp.sqrt(2)) / 2 * mp.exp(x * x / 2) * (x + 1)


def mapped_tail(centre):
    return lambda t: tail(centre * (1 + t) / (1 - t))


def unweighted_tail(centre):
    def at(t):
        x = centre * (1 + t) / (1 - t)
        return tail(x) / (x + 1)
    return at


def two_over_pi(words):
    """The first bits of 2/pi in words of 64, behind one word of zeros."""
    with mp.workdps(500):
        scaled = int(mp.floor(2 / mp.pi * mp.mpf(2)**(64 * words)))
    found = [scaled >> (64 * (words - 1 - i)) & (2**64 - 1) for i in range(words)]
    print("static constexpr uint64_t kTwoOverPiWords[] = {0, " + ", ".join(f"{w:#018x}" for w in found) + "};")


def pairs():
    emit_pairs("kExpPair", "(e^r - 1 - r) / r^2 on |r| <= ln2 / 2",
               lambda r: taylor(lambda k, x: x**k / mp.factorial(k + 2), r), -HALF_LN2, HALF_LN2, 19, 13,
               lambda r: r * r / mp.exp(r))
    emit_pairs("kLogPair", "(log((1+s)/(1-s)) - 2s) / s^3 in z = s^2",
               lambda z: taylor(lambda k, x: 2 * x**k / (2 * k + 3), z), 0, mp.mpf("0.02945"), 14, 9, lambda z: z / 2)
    emit_pairs("kAtanPair", "(atan t - t) / t^3 in z = t^2 for |t| <= 0.2385",
               lambda z: taylor(lambda k, x: (-1)**(k + 1) * x**k / (2 * k + 3), z), 0, mp.mpf("0.0569"), 10, 4, lambda z: z)
    emit_pairs("kSinPair", "(sin r - r) / r^3 in z = r^2",
               lambda z: taylor(lambda k, x: (-1)**(k + 1) * x**k / mp.factorial(2 * k + 3), z), 0, QUARTER_PI_SQUARED, 8, 3,
               lambda z: z)
    emit_pairs("kCosPair", "(cos r - 1 + r^2/2) / r^4 in z = r^2",
               lambda z: taylor(lambda k, x: (-1)**k * x**k / mp.factorial(2 * k + 4), z), 0, QUARTER_PI_SQUARED, 8, 2,
               lambda z: z * z * mp.sqrt(2))
    high, middle, low = parts(mp.log(2), 42, 42)
    print(f"constexpr double kLn2Part1 = {high}, kLn2Part2 = {middle}, kLn2Part3 = {low};")
    for name, value in (("kHalfPi", mp.pi / 2), ("kPi", mp.pi), ("kQuarterPi", mp.pi / 4), ("kAtanHalf", mp.atan(mp.mpf(1) / 2))):
        print(f"constexpr Pair {name} = {pair(value)};")
    two_over_pi(19)


def main():
    emit("kExp", "(e^r - 1 - r) / r^2 on |r| <= ln2 / 2", lambda r: taylor(lambda k, x: x**k / mp.factorial(k + 2), r),
         -HALF_LN2, HALF_LN2, 10, lambda r: r * r / mp.exp(r))
    emit("kLog", "(log((1+s)/(1-s)) - 2s) / s^3 in z = s^2", lambda z: taylor(lambda k, x: 2 * x**k / (2 * k + 3), z),
         0, mp.mpf("0.02945"), 7, lambda z: z / 2)
    emit("kSin", "(sin r - r) / r^3 in z = r^2", lambda z: taylor(lambda k, x: (-1)**(k + 1) * x**k / mp.factorial(2 * k + 3), z),
         0, QUARTER_PI_SQUARED, 6, lambda z: z)
    emit("kCos", "(cos r - 1 + r^2/2) / r^4 in z = r^2", lambda z: taylor(lambda k, x: (-1)**k * x**k / mp.factorial(2 * k + 4), z),
         0, QUARTER_PI_SQUARED, 6, lambda z: z * z * mp.sqrt(2))
    c0 = 2 / mp.sqrt(mp.pi)
    c0_high = mp.mpf(float(mp.nint(c0 * 2**28) / 2**28))
    emit("kErfSmall", f"erf(x)/x - {float(c0_high).hex()} in z = x^2 on 0 <= x <= 1",
         lambda z: taylor(lambda k, x: c0 * (-1)**k * x**k / (mp.factorial(k) * (2 * k + 1)), z) - c0_high, 0, 1, 15)
    emit("kErfLarge", "erf(x) in t = x - 2.5 on 1 <= x <= 4", lambda t: mp.erf(t + mp.mpf("2.5")), -1.5, 1.5, 34)
    inv = 1 / mp.sqrt(2 * mp.pi)
    emit("kPhiSmall", "(Phi(x) - 1/2) / x in z = x^2 on |x| <= 1.25",
         lambda z: taylor(lambda k, x: inv * (-1)**k * x**k / (mp.factorial(k) * 2**k * (2 * k + 1)), z), 0, mp.mpf("1.5625"), 14,
         lambda z: mp.mpf(3))
    for hi, centre, degree, name in ((14.5, 4.5, 24, "kPhiTail"), (40, 5, 34, "kPhiTailWide")):
        lo = mp.mpf("1.25") if hi < 20 else mp.mpf("0.84")
        c = mp.mpf(centre)
        emit(name, f"Phi(-x) e^(x^2/2) (x + 1) in t = (x - {centre}) / (x + {centre}) on {float(lo)} <= x <= {hi}", mapped_tail(c),
             (lo - c) / (lo + c), (hi - c) / (hi + c), degree, lambda t, c=c: 1 / mapped_tail(c)(t))
    c = mp.mpf(5)
    emit("kExpNear", "e^r on |r| <= ln2 / 2", mp.exp, -HALF_LN2, HALF_LN2, 8, lambda r: mp.exp(-r))
    emit("kPhiTailNear", "Phi(-x) e^(x^2/2) in t = (x - 5) / (x + 5) on 0 <= x <= 14.5", unweighted_tail(c),
         -1, (mp.mpf("14.5") - c) / (mp.mpf("14.5") + c), 15, lambda t: 1 / unweighted_tail(c)(t))


if __name__ == "__main__":
    main()
    pairs()
