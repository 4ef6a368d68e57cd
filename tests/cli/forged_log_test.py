#!/usr/bin/env python3
"""Rounding logs that a dishonest trainer forged and signed, or that somebody damaged afterwards, as an auditor meets them.
With --slow each kind is tried and each byte of a log damaged, else every second and every seventh."""
import os
import re

from isobit_cli import DIGITS, SLOW, Case, contents, main, overrides

AT = 4
# Near-ties in every step: the default is 32, and what exceeds the sound bound counts as that.
LOGGED = overrides("job.arithmetic=logged-1", "job.steps=6", "schedule.warmup=1", "commit.every=1",
                   "checkpoint.every=0", "rounding.divergence=65536")
# What an audit comes to: part and operator of the difference, words of the reason; or the finding, if any, when accepted.
REJECTED = {
    "log-move": (True, "no result within the sound error bound"),
    "log-pad": (True, "an honest log has none"),
    "log-swap": (False, "the segment of another step"),
    "log-foreign": (True, ""),
    "log-cut": (False, "cut short"),
    "log-version": (False, "newer version"),
}
ACCEPTED = {"log-nudge": None, "log-many": None, "log-add": "superfluous", "log-beyond": "beyond_bound"}
MORE = {"log-beyond": overrides("rounding.divergence=16"), "log-unchecked": overrides("rounding.divergence=0.001", "data.batch=512"),
        "log-optimizer": overrides("rounding.log=ovt"), "log-reverse": overrides("rounding.log=ovt")}
REJECTED |= {"log-optimizer": (True, "every platform computes alike"), "log-reverse": (True, "no result within")}


class Forged(Case):
    def cheat(self, kind, at=AT, **more):
        return self.isobit("-q", "cheat", DIGITS, *LOGGED, *MORE.get(kind, ()), "--kind", kind, "--at", str(at), "--out", kind,
                           **more)

    def audit(self, run, code, platform="ordered/1t"):
        return self.isobit_json("audit", run, "--platform", platform, code=code)

    def test_every_kind_is_tried_here(self):
        kinds = re.findall(r"(?m)^ +(log-\w+): ", self.isobit("cheat", "--help").out)
        self.assertEqual(sorted(kinds), sorted([*REJECTED, *ACCEPTED, "log-remove", "log-hide", "log-unchecked"]))

    def test_rejected(self):
        for kind, (names_operator, words) in list(REJECTED.items())[::1 if SLOW else 2]:
            self.cheat(kind)
            self.assertEqual(self.isobit_json("verify", kind)["verdict"], "accepted", kind)  # validly signed
            audited = self.audit(kind, code=1)
            difference = audited["first_difference"]
            self.assertEqual((audited["verdict"], difference["part"], difference["step"], difference["first_step"]),
                             ("rejected", "log", AT, AT), kind)
            self.assertEqual(difference["operator"] is not None, names_operator, f"{kind}: {audited}")
            self.assertIn(f"step {AT}", audited["reason"], kind)
            self.assertIn(words, audited["reason"], kind)
            result = self.isobit("audit", kind, code=1)
            self.assertRegex(result.out, rf"(?m)^first differs log at step {AT}$", kind)
            self.assertEqual(result.err, "")

    def test_accepted_with_findings(self):
        for kind, finding in ACCEPTED.items():
            self.cheat(kind, at=1 if kind == "log-many" else AT)
            audited = self.audit(kind, code=0)
            self.assertEqual(audited["verdict"], "accepted", kind)
            kinds = {f["kind"] for f in audited["findings"]}
            self.assertEqual(kinds, {finding} if finding else set(), kind)
            self.assertEqual(audited["log"]["corrections"] > 0, kind != "log-add", kind)
            text = self.isobit("audit", kind, "--verdict", kind + ".verdict").out
            self.assertEqual("\nfinding " in text, finding is not None, text)
            # Whoever has only the document knows them too.
            self.assertEqual(self.isobit_json("verify", kind + ".verdict")["findings"], audited["findings"])
            self.assertEqual("\nfinding " in self.isobit("verify", kind + ".verdict").out, finding is not None)

    def test_removed(self):
        self.cheat("log-remove")
        self.assertEqual([f["kind"] for f in self.audit("log-remove", code=0)["findings"]], ["missing"])
        # Values that are not the exact ones, too small a change for a state to show: still their entries are missed.
        self.cheat("log-hide")
        self.assertEqual({f["kind"] for f in self.audit("log-hide", code=0)["findings"]}, {"missing"})

    def test_a_platform_beyond_the_bound(self):
        strict = MORE["log-unchecked"]
        self.fails("-q", "train", DIGITS, "--platform", "ordered/1t", *LOGGED, *strict, "--out", "r", code=4, says=["beyond the job's error bound"])
        self.cheat("log-unchecked")
        audited = self.audit("log-unchecked", code=4)
        self.assertEqual(audited["verdict"], "inconclusive")
        self.assertIn("beyond the job's error bound", audited["reason"])

    def test_as_published(self):
        published = overrides("rounding.log=ovt", "rounding.distance=false")
        self.isobit("-q", "cheat", DIGITS, *LOGGED, *published, "--kind", "log-reverse", "--at", "3", "--out", "r")
        self.assertIn("no guarantee", self.audit("r", code=0)["reason"])
        for options, says in ((published, True), (overrides("rounding.log=ovt"), False)):
            name = "trained" + str(says)
            self.assertEqual("no guarantee" in self.isobit("train", DIGITS, *LOGGED, *options, "--out", name).out, says)
        self.isobit("-q", "cheat", DIGITS, *LOGGED, *published, "--kind", "log-optimizer", "--at", "3", "--out", "s")
        self.assertIn("every platform computes alike", self.audit("s", code=1)["reason"])

    def test_an_honest_log_has_no_findings(self):
        self.isobit("train", DIGITS, *LOGGED, "--out", "r")
        audited = self.audit("r", code=0, platform="ordered@portable/1t")
        self.assertEqual((audited["verdict"], audited["findings"]), ("accepted", []))

    def test_nothing_to_do(self):
        self.fails("-q", "cheat", DIGITS, "--kind", "log-add", "--out", "x", code=2, says=["job.arithmetic=logged-1"])
        self.fails("-q", "cheat", DIGITS, *LOGGED, "--kind", "log-swap", "--at", "1", "--out", "x", code=2, says=["step 1"])
        self.fails("-q", "cheat", DIGITS, *LOGGED, "--set", "rounding.bits=22", "--kind", "log-nudge", "--at", "2",
                   "--out", "y", code=2, says=["step 2", "rounding.divergence"])


class Damaged(Case):
    """Nobody signs again: the manifest tells."""

    def setUp(self):
        super().setUp()
        # As few bytes as a log has.
        small = overrides("job.steps=2", "schedule.warmup=0", "rounding.divergence=16", "data.batch=4")
        self.isobit("train", DIGITS, *LOGGED, *small, "--out", "r")
        self.name = self.path("r", "log", "segments")
        with open(self.name, "rb") as f:
            self.log = f.read()

    def put(self, data):
        with open(self.name, "wb") as f:
            f.write(data)

    def refused(self, what):
        result = self.isobit("verify", "r", code=1)
        self.assertIn("log/segments", result.out, f"{what}: {result}")

    def test_any_byte(self):
        self.assertLess(len(self.log), 400)
        for at in range(0, len(self.log), 1 if SLOW else 7):
            changed = bytearray(self.log)
            changed[at] ^= 1 << at % 8
            self.put(changed)
            self.refused(f"byte {at}")
        self.put(self.log)
        self.assertEqual(self.isobit_json("audit", "r")["verdict"], "accepted")

    def test_cut_or_longer(self):
        for size in (0, 1, 27, len(self.log) // 2, len(self.log) - 1):
            self.put(self.log[:size])
            self.refused(f"cut to {size}")
        self.put(self.log + b"\0")
        self.refused("a byte more")
        self.put(self.log + self.log)
        self.refused("twice")

    def test_of_another_run(self):
        self.isobit("train", DIGITS, *LOGGED, "--set", "job.seed=2", "--out", "s")
        self.put(contents(self.path("s"))["log/segments"])
        self.refused("another run's")
        os.remove(self.name)
        self.refused("none")


if __name__ == "__main__":
    main()
