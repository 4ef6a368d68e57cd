#!/usr/bin/env python3
"""The attacker's encoder writes what isobit writes: honest runs, taken apart and put together again, byte by byte."""
import os
import unittest

import philox
from arena import ARITHMETICS, Arena, limit_this_process
from bundle import read_run
from canon import tagged
from ed25519 import Key, malleated
from falsehood import SEED, drawn, intervals_of
from objects import batch_digest, transcript_root
from segments import Segment

# RFC 8032, section 7.1: secret, public, message, signature.
VECTORS = """
9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60
d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a

e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b
4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb
3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c
72
92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00
c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7
fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025
af82
6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a
""".split("\n")[1:-1]


class Ed25519(unittest.TestCase):
    def test_vectors(self):
        for i in range(0, len(VECTORS), 4):
            secret, public, message, signature = map(bytes.fromhex, VECTORS[i:i + 4])
            self.assertEqual(Key(secret).public, public)
            self.assertEqual(Key(secret).sign(message), signature)

    def test_malleated(self):
        signature = Key(bytes(32)).sign(b"message")
        self.assertNotEqual(malleated(signature), signature)
        self.assertEqual(malleated(signature)[:32], signature[:32])


class Honest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        limit_this_process()
        cls.arena = Arena()

    @classmethod
    def tearDownClass(cls):
        cls.arena.close()

    def test_put_together_again(self):
        for arithmetic in ARITHMETICS:
            run = self.arena.run(arithmetic)
            folder = self.arena.path("again-" + arithmetic)
            run.write(folder)
            before = read_run(run.folder, None, None)[1]
            after = read_run(folder, None, None)[1]
            self.assertEqual(sorted(before), sorted(after))
            for name, data in before.items():
                self.assertEqual(data, after[name], f"{arithmetic}: {name}")
            self.assertEqual(self.arena.isobit("audit", "again-" + arithmetic).code, 0)

    def test_roots_of_states(self):
        for arithmetic in ARITHMETICS:
            run = self.arena.run(arithmetic)
            for step in (2, 4):
                self.assertEqual(run.state_root(step), run.step(step).state_root)
            self.assertEqual(run.state_root(5), run.final.state_root)

    def test_batches(self):
        run = self.arena.run("ordered-1")
        for t in range(1, 6):
            leaves = [philox.sample_leaf(0, i) for i in philox.batch(7, 8, t)]
            self.assertEqual(run.step(t).batch, batch_digest(t, leaves))

    def test_logs(self):
        for arithmetic in ("sparse", "ovt"):
            run = self.arena.run(arithmetic)
            entries = 0
            for t, data in enumerate(run.segments, 1):
                segment = Segment(data)
                self.assertEqual(segment.bytes(), data)
                self.assertEqual(segment.root(), run.step(t).log_segment)
                entries += sum(len(body) for _, body in segment.nodes)
            self.assertGreater(entries, 10)

    def test_what_a_sample_draws(self):
        run = self.arena.run("ordered-1")
        audited = self.arena.isobit("--json", "audit", os.path.basename(run.folder), "--sample", "1", "--seed", SEED.hex())
        self.assertEqual(audited.code, 0, str(audited))
        intervals = intervals_of(5, 2)
        numbers = drawn(transcript_root(run.encoded_leaves()), len(intervals), 1)
        self.assertEqual([intervals[n] for n in numbers], [tuple(i) for i in audited.json()["sampled"]])

    def test_tags(self):
        self.assertNotEqual(tagged("isobit.a", 1, b""), tagged("isobit.a", 2, b""))


if __name__ == "__main__":
    unittest.main(verbosity=2)
