#!/usr/bin/env python3
"""What strangers may do to a service: connect without a certificate, send more than anybody may, come in crowds, say what
nobody asked for. It refuses as docs/service.md says, takes no memory for it, and goes on playing. --slow: what takes its
time, too."""
import os
import socket
import ssl
import struct
import subprocess
import threading
import time

from disputing import SOURCE, Disputing, main, resident, slow, wait_for
from http2 import DATA, Connection

SAY = "/isobit.service.Party/Say"
MIB = 1 << 20


class Hostile(Disputing):
    def connect(self, server, **more):
        connection = Connection(server.port, os.path.join(self.dir, "tls"), **more)
        self.addCleanup(connection.close)
        return connection

    def test_health_and_what_each_refusal_is_called(self):
        server = self.trainer()
        connection = self.connect(server)
        self.assertTrue(connection.healthy())
        self.assertTrue(connection.healthy(""))
        _, trailers = connection.answer(SAY, b"\n\4junk")
        self.assertIn(b"question", trailers)
        self.assertEqual(len(server.events("refused")), 1)
        for _ in range(50):
            connection.answer(SAY, b"\n\4junk")
        self.assertLess(len(server.events("refused")), 45)  # and the rest are counted
        self.assertTrue(connection.healthy())
        self.assertEqual(server.stop(), 0)
        self.assertEqual(server.events("stopping")[0]["refused"], 51)

    def test_who_has_no_certificate_is_heard_by_nobody(self):
        server = self.trainer()
        with self.assertRaises((ssl.SSLError, ConnectionError)):
            self.connect(server, certificate=None).healthy()
        # One of another authority that has the same name.
        subprocess.run([os.path.join(SOURCE, "scripts", "dev_certificates"), os.path.join(self.own, "other"), "referee"],
                       check=True, stdout=subprocess.DEVNULL)
        tls, other = os.path.join(self.dir, "tls"), os.path.join(self.own, "other")
        mixed = os.path.join(self.own, "mixed")
        os.makedirs(mixed)
        for name, folder in (("authority.crt", tls), ("referee.crt", other), ("referee.key", other)):
            os.symlink(os.path.join(folder, name), os.path.join(mixed, name))
        with self.assertRaises((ssl.SSLError, ConnectionError)):
            Connection(server.port, mixed).healthy()
        told = self.run_isobit("dispute", "--connect", server.address, "--connect", server.address, "--job", "job.toml",
                               "--certificate", f"{other}/referee.crt", "--key", f"{other}/referee.key", "--authority",
                               "tls/authority.crt", home="referee", code=4)
        self.assertIn(server.address, told.stderr)
        self.assertTrue(self.connect(server).healthy())
        self.assertFalse(server.events("refused", "opened"))

    def test_a_message_of_a_gigabyte_is_not_taken(self):
        server = self.trainer()
        self.assertTrue(self.connect(server).healthy())
        before = resident(server.process)
        connection = self.connect(server)
        stream = connection.call(SAY)
        declared, sent, most = 1 << 30, 0, before
        connection.send(DATA, 0, stream, b"\0" + struct.pack(">I", declared))
        connection.window[0] -= 5
        connection.window[stream] -= 5
        ended = False
        try:
            while sent < declared and not ended:
                while min(connection.window[0], connection.window[stream]) < 16384 and not ended:
                    kind, flags, of, _ = connection.receive()
                    ended = of == stream and (kind == 3 or flags & 1 and kind == 1)
                if ended:
                    break
                connection.send(DATA, 0, stream, bytes(16384))
                for of in (0, stream):
                    connection.window[of] -= 16384
                sent += 16384
                most = max(most, resident(server.process))
        except (ConnectionError, ssl.SSLError, TimeoutError, socket.timeout):
            ended = True
        self.assertTrue(ended)
        print(f"sent {sent >> 20} MiB of 1 GiB; {(most - before) >> 20} MiB more were resident")
        self.assertLess(most - before, 32 * MIB)
        self.assertTrue(self.connect(server).healthy())

    def test_two_hundred_connections_at_once(self):
        server = self.trainer("--connections", "16")
        self.assertTrue(self.connect(server).healthy())
        before = resident(server.process)
        healthy, lock = [], threading.Lock()

        def one():
            connection = Connection(server.port, os.path.join(self.dir, "tls"), timeout=60)
            good = connection.healthy()
            connection.close()
            with lock:
                healthy.append(good)
        threads = [threading.Thread(target=one) for _ in range(200)]
        for thread in threads:
            thread.start()
        most = 0
        while any(thread.is_alive() for thread in threads):
            most = max(most, len(os.listdir(f"/proc/{server.process.pid}/fd")))
            time.sleep(0.01)
        for thread in threads:
            thread.join()
        self.assertEqual(healthy, [True] * 200)
        self.assertLess(most, 16 * 3 + 60)
        self.assertLess(resident(server.process) - before, 64 * MIB)

    @slow
    def test_who_only_holds_connections_lets_others_in_again(self):
        server = self.trainer("--connections", "4")
        idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(40)]
        try:
            begin = time.monotonic()
            # Each handshake has 10 seconds, of four at a time; those that left in the meantime take none.
            for connection in idle[4:]:
                connection.close()
            self.assertTrue(self.connect(server, timeout=60).healthy())
            self.assertLess(time.monotonic() - begin, 40)
        finally:
            for connection in idle:
                connection.close()

    @slow
    def test_who_holds_all_connections_and_says_nothing_gives_way(self):
        """Strangers that fill a service several times over, and come again as soon as they are cut."""
        trainer, challenger = self.trainer("--connections", "8"), self.challenger()
        stop = threading.Event()

        def hold():
            while not stop.is_set():
                with socket.create_connection(("127.0.0.1", trainer.port)) as held:
                    held.settimeout(0.2)
                    while not stop.is_set():
                        try:
                            if not held.recv(100):
                                break
                        except socket.timeout:
                            pass
                        except ConnectionError:
                            break
        threads = [threading.Thread(target=hold) for _ in range(24)]
        for thread in threads:
            thread.start()
        try:
            self.assert_same(self.settle(trainer.address, challenger.address, "--engagement", "engagement"))
        finally:
            stop.set()
            for thread in threads:
                thread.join()

    def test_a_game_goes_on_among_strangers(self):
        trainer, challenger = self.trainer(), self.challenger()
        stop = threading.Event()

        def flood(server):
            connection = Connection(server.port, os.path.join(self.dir, "tls"))
            while not stop.is_set():
                connection.answer(SAY, b"\n\4junk")
            connection.close()
        threads = [threading.Thread(target=flood, args=(server,)) for server in (trainer, challenger) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            self.assert_same(self.settle(trainer.address, challenger.address))
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        wait_for(lambda: trainer.events("ended"))


if __name__ == "__main__":
    main()
