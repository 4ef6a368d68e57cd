"""A TCP proxy that does to connections what a bad network does."""
import random
import select
import socket
import threading
import time


class Proxy:
    """Listens on a free port of loopback and carries bytes to and from `port`, as it is told:
    delay    seconds that every piece is late
    cut      a connection is cut after so many bytes, drawn up to this; None: never
    stalled  takes everything and carries nothing, for connections there are and those to come
    refuses  closes what comes"""

    def __init__(self, port, delay=0.0, cut=None, seed=1):
        self.port, self.delay, self.cut = port, delay, cut
        self.stalled, self.refuses, self.ended = False, False, False
        self.carried = self.cuts = self.connections = 0
        self.random = random.Random(seed)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.thread = threading.Thread(target=self._listen, daemon=True)
        self.thread.start()

    def close(self):
        self.ended = True
        self.listener.close()

    def _listen(self):
        while not self.ended:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._carry, args=(client,), daemon=True).start()

    def _carry(self, client):
        with client:
            if self.refuses:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self.port), timeout=5)
            except OSError:
                return
            with server:
                left = self.random.randrange(self.cut) if self.cut else None
                late = []  # (when, to whom, bytes)
                while not self.ended:
                    now = time.monotonic()
                    try:
                        while late and late[0][0] <= now and not self.stalled:
                            _, to, data = late.pop(0)
                            to.sendall(data)
                            self.carried += len(data)
                        if left is not None and left <= 0:
                            self.cuts += 1
                            return
                        for ready in select.select([client, server], [], [], 0.01)[0]:
                            data = ready.recv(65536)
                            if not data:
                                return
                            if left is not None:
                                left -= len(data)
                            late.append((now + self.delay, server if ready is client else client, data))
                    except OSError:
                        return
