"""As much of HTTP/2 and gRPC as a hostile client needs, by hand: frames as it likes them, over TLS."""
import os
import socket
import ssl
import struct

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
ACK, END_STREAM, END_HEADERS = 1, 1, 4


def literal(name, value):
    """A header that no table holds, without Huffman codes."""
    def text(s):
        assert len(s) < 127
        return bytes([len(s)]) + s.encode()
    return b"\0" + text(name) + text(value)


class Connection:
    """REQUIRES a folder of scripts/dev_certificates. certificate: whose; None: without one."""

    def __init__(self, port, folder, certificate="referee", timeout=20):
        context = ssl.create_default_context(cafile=os.path.join(folder, "authority.crt"))
        context.set_alpn_protocols(["h2"])
        if certificate:
            context.load_cert_chain(os.path.join(folder, certificate + ".crt"), os.path.join(folder, certificate + ".key"))
        plain = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        try:
            self.socket = context.wrap_socket(plain, server_hostname="127.0.0.1")
        except BaseException:
            plain.close()
            raise
        self.stream, self.window = -1, {0: 65535}
        self.socket.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        self.send(SETTINGS, 0, 0, b"")

    def close(self):
        self.socket.close()

    def send(self, kind, flags, stream, payload):
        self.socket.sendall(struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload)

    def _exactly(self, n):
        data = b""
        while len(data) < n:
            more = self.socket.recv(n - len(data))
            if not more:
                raise ConnectionError("closed")
            data += more
        return data

    def receive(self):
        """(kind, flags, stream, payload) of the next frame, after what every client does with it."""
        head = self._exactly(9)
        kind, flags, stream = head[3], head[4], struct.unpack(">I", head[5:])[0]
        payload = self._exactly(int.from_bytes(head[:3], "big"))
        if kind == SETTINGS and not flags & ACK:
            self.send(SETTINGS, ACK, 0, b"")
        if kind == PING and not flags & ACK:
            self.send(PING, ACK, 0, payload)
        if kind == WINDOW_UPDATE:
            self.window[stream] = self.window.get(stream, 65535) + struct.unpack(">I", payload)[0]
        return kind, flags, stream, payload

    def call(self, path):
        """Opens a call; the number of its stream."""
        self.stream += 2
        self.window[self.stream] = 65535
        headers = (literal(":method", "POST") + literal(":scheme", "https") + literal(":path", path) +
                   literal(":authority", "127.0.0.1") + literal("te", "trailers") + literal("content-type", "application/grpc"))
        self.send(HEADERS, END_HEADERS, self.stream, headers)
        return self.stream

    def answer(self, path, message):
        """A whole call: (bytes of the answer's data, bytes of its headers and trailers, which are compressed)."""
        stream = self.call(path)
        self.send(DATA, END_STREAM, stream, b"\0" + struct.pack(">I", len(message)) + message)
        data, headers = b"", b""
        while True:
            kind, flags, of, payload = self.receive()
            if of != stream:
                continue
            if kind == DATA:
                data += payload
            if kind == HEADERS:
                headers += payload
            if kind == RST_STREAM:
                raise ConnectionError(f"reset: {struct.unpack('>I', payload)[0]}")
            if flags & END_STREAM and kind in (DATA, HEADERS):
                return data, headers

    def healthy(self, service="isobit.service.Party"):
        name = service.encode()
        data, _ = self.answer("/grpc.health.v1.Health/Check", b"\n" + bytes([len(name)]) + name if name else b"")
        return data == b"\0\0\0\0\2\x08\1"  # SERVING
