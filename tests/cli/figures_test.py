#!/usr/bin/env python3
"""Figures that the program prints, computed again from what their pages say."""
import hashlib
import math
import os
import struct

from isobit_cli import DIGITS, JOBS, STEPS, Case, main, overrides


LOGGED = overrides("job.arithmetic=logged-1")
PRODUCTS = ("Conv", "ConvGradSrc", "ConvGradWeights", "Gemm", "MatMul")


def text(s):
    return struct.pack("<Q", len(s.encode())) + s.encode()


def tree(leaves):
    """The root of RFC 6962 (docs/formats/merkle.md)."""
    if len(leaves) == 1:
        return hashlib.sha256(b"\0" + leaves[0]).digest()
    left = 1 << (len(leaves) - 1).bit_length() - 1
    return hashlib.sha256(b"\1" + tree(leaves[:left]) + tree(leaves[left:])).digest()


def schema_root(entries):
    """docs/formats/trace-schema.md, from the listing alone."""
    kinds = ["state", "batch", "rate", "output", "statistic"]
    types = {"float32": 1, "float64": 2, "int64": 3, "int32": 4, "uint8": 5, "bool": 6}
    leaves = [text("isobit.trace-entry") + struct.pack("<IQBqq", 1, e["entry"], kinds.index(e["kind"]), e["node"], e["place"])
              + text(e["name"]) + struct.pack("<BQ", types[e["dtype"]], len(e["dims"]))
              + b"".join(struct.pack("<q", d) for d in e["dims"]) + struct.pack("<I", e["split"]) for e in entries]
    payload = struct.pack("<Q", len(leaves)) + tree(leaves)
    return hashlib.sha256(text("isobit.trace-schema") + struct.pack("<IQ", 1, len(payload)) + payload).hexdigest()


class TraceSchema(Case):
    def test_the_listing_is_what_is_committed(self):
        for job, *settings in ((DIGITS,), (DIGITS, *LOGGED), (os.path.join(JOBS, "logistic.toml"),)):
            listed = self.isobit_json("job", "check", job, "--trace-schema", *settings)
            entries = listed["entries"]
            self.assertEqual(schema_root(entries), listed["trace_schema_root"], job)
            self.assertEqual([e["entry"] for e in entries], list(range(len(entries))))
            self.assertEqual({e["split"] for e in entries if len(e["dims"]) < 2}, {0})
            self.assertTrue(all(1 <= e["split"] < len(e["dims"]) for e in entries if len(e["dims"]) >= 2))
            lines = self.isobit("job", "check", job, "--trace-schema", *settings).out.splitlines()
            self.assertEqual(lines[-1].split(), ["root", listed["trace_schema_root"]])
            self.assertEqual(len(lines), len(entries) + 1)
            for e, line in zip(entries, lines):
                self.assertIn(f" {e['name']}  {e['dtype']} ", line)
                self.assertEqual(f" split {e['split']}" in line, len(e["dims"]) >= 2, line)


class Logs(Case):
    def test_of_the_self_check(self):
        log = self.train("r", *LOGGED)["log"]
        listed = self.isobit_json("job", "check", DIGITS, "--trace-schema", *LOGGED)["entries"]
        sizes = [math.prod(e["dims"]) for e in listed if e["kind"] == "output" and e["operator"].split(".")[-1] in PRODUCTS]
        self.assertEqual(log["sampled"], sum(sizes) * STEPS)
        self.assertEqual(log["checked"], sum(1 + size // 16384 for size in sizes) * STEPS)
        self.assertAlmostEqual(log["noticing"], 1 - math.exp(-0.001 * log["sampled"] / 16384), places=12)
        said = (f"{log['checked']} of {log['sampled']} outputs within the job's bound of their exact values, and every near-tie; "
                f"one in 1,000 beyond it would be noticed with probability {log['noticing']:.3g} or more")
        text_of_audit = self.isobit("audit", "r").out
        self.assertIn(said, text_of_audit)
        audited = self.isobit_json("audit", "r")["log"]
        self.assertEqual({k: audited[k] for k in ("checked", "sampled", "noticing")},
                         {k: log[k] for k in ("checked", "sampled", "noticing")})

    def test_of_bytes_a_step(self):
        for steps in (7, 11):
            settings = [*LOGGED, *overrides(f"job.steps={steps}", "schedule.warmup=2")]
            size = self.isobit_json("train", DIGITS, *settings, "--out", f"a{steps}")["log"]["bytes"]
            said = self.isobit("train", DIGITS, *settings, "--out", f"b{steps}").out
            self.assertIn(f"({math.floor(size / steps + 0.5)} B a step)", said)


class Memory(Case):
    def test_of_the_trial_of_a_library(self):
        self.assertEqual(self.isobit_json("job", "check", DIGITS)["memory_of_trial"], 0)
        self.assertNotIn("child process", self.isobit("job", "check", DIGITS).out)
        for entry in self.vendors():
            if entry.get("float64_digest"):
                break
        else:
            self.skipTest("skipped: no vendor library")
        check = ["job", "check", DIGITS, *overrides("job.arithmetic=correct-1"), "-p", entry["platform"] + "/1t"]
        self.assertGreater(self.isobit_json(*check)["memory_of_trial"], 3 * 2048 * 2048 * 8)
        self.assertRegex(self.isobit(*check).out, r"for a moment about 117 MB in a child process")


if __name__ == "__main__":
    main()
