#!/usr/bin/env python3
"""What lies beside the service: the systemd unit, the development certificates, and what a command says of files that are
no certificates."""
import os
import shutil
import stat
import subprocess
import tempfile
import unittest

from disputing import PROGRAM, SOURCE, main

UNIT = os.path.join(SOURCE, "examples", "service", "isobit-serve.service")
CERTIFICATES = os.path.join(SOURCE, "scripts", "dev_certificates")


class Unit(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="isobit_unit_")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)

    def run_in(self, *words, **more):
        return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=self.dir, **more)

    def path(self, *names):
        return os.path.join(self.dir, *names)

    @unittest.skipUnless(shutil.which("systemd-analyze"), "skipped: no systemd-analyze")
    def test_systemd_takes_the_unit_and_finds_it_hardened(self):
        done = self.run_in("systemd-analyze", "verify", UNIT)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        done = self.run_in("systemd-analyze", "security", "--offline=true", "--threshold=20", UNIT)  # tenths of 10
        if "unrecognized option" in done.stderr:
            self.skipTest("skipped: this systemd analyses no files")
        self.assertEqual(done.returncode, 0, done.stdout[-300:])

    def test_every_option_of_the_unit_is_one(self):
        with open(UNIT) as f:
            words = [line.split()[0] for line in f if line.startswith("  --")]
        known = self.run_in(PROGRAM, "serve", "--help").stdout
        for word in words:
            self.assertIn(word, known)
        self.assertGreaterEqual(len(words), 6)

    def test_certificates_for_development(self):
        self.assertEqual(self.run_in(CERTIFICATES, "--host", "10.0.0.7", "--host", "me.example", "tls", "a", "b").returncode, 0)
        self.assertEqual(sorted(os.listdir(self.path("tls"))),
                         ["a.crt", "a.key", "authority.crt", "authority.key", "b.crt", "b.key"])
        for name in os.listdir(self.path("tls")):
            self.assertEqual(stat.S_IMODE(os.stat(self.path("tls", name)).st_mode) & 0o077, 0, name)
        shown = self.run_in("openssl", "x509", "-in", "tls/a.crt", "-noout", "-text").stdout
        for words in ("IP Address:127.0.0.1", "IP Address:10.0.0.7", "DNS:me.example", "TLS Web Client Authentication"):
            self.assertIn(words, shown)
        self.assertEqual(self.run_in("openssl", "verify", "-CAfile", "tls/authority.crt", "tls/b.crt").returncode, 0)
        for words in (["tls"], [], ["other", "authority"], ["other", "A B"], ["--hosts", "x"]):
            done = self.run_in(CERTIFICATES, *words)
            self.assertEqual(done.returncode, 1, words)
            self.assertTrue(done.stderr.startswith("dev_certificates: "), words)
        self.assertFalse(os.path.exists(self.path("other")))

    def test_files_that_are_no_certificates(self):
        self.run_in(CERTIFICATES, "tls", "a", "b", check=True)
        with open(self.path("junk"), "w") as f:
            f.write("no certificate\n")
        files = {"--certificate": "tls/a.crt", "--key": "tls/a.key", "--client-authority": "tls/authority.crt"}
        for option, file, says in (("--certificate", "junk", "holds no certificate"),
                                   ("--certificate", "tls/a.key", "holds no certificate"),
                                   ("--certificate", "nothing", "nothing"),
                                   ("--key", "junk", "holds no private key"),
                                   ("--key", "tls/b.key", "is not the key of the certificate"),
                                   ("--client-authority", "junk", "holds no certificate")):
            words = [word for pair in {**files, option: file}.items() for word in pair]
            done = self.run_in(PROGRAM, "serve", "a.run", "--listen", "127.0.0.1:0", *words)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn(says, done.stderr)
            self.assertIn(file, done.stderr)
        late = self.path("late.crt")
        self.run_in("openssl", "req", "-x509", "-key", "tls/a.key", "-subj", "/CN=late", "-days", "-1", "-out", late)
        if os.path.exists(late):
            done = self.run_in(PROGRAM, "serve", "a.run", "--listen", "127.0.0.1:0", "--certificate", late, "--key", "tls/a.key",
                               "--client-authority", "tls/authority.crt")
            self.assertIn("no longer valid", done.stderr)


if __name__ == "__main__":
    main()
