#!/usr/bin/env python3
"""Arithmetic correct-1 over vendors' kernels: one result, whatever library, core type and thread count. With --slow over
every kernel, else over the first and the last of each library; and over our own integer products."""
import itertools

from isobit_cli import DIGITS, SHORT, SLOW, Case, main, overrides

CORRECT = SHORT + overrides("job.arithmetic=correct-1")


class Correct(Case):
    def vendors(self):
        """Settings that run here and have a float64 product, at most one for each kernel that really differs."""
        found = {}
        for entry in super().vendors():
            digest = entry.get("float64_digest")
            if digest and digest not in found:
                found[digest] = entry["platform"]
        if SLOW:
            return list(found.values())
        of_libraries = [list(names) for _, names in itertools.groupby(found.values(), lambda name: name.split("@")[0])]
        return [name for names in of_libraries for name in dict.fromkeys((names[0], names[-1]))]

    def test_one_root_over_every_kernel_that_differs(self):
        vendors = self.vendors()
        if not vendors:
            self.skipTest("skipped: no vendor library")
        roots = {}
        for number, platform in enumerate(["ordered", "ordered@portable/1t", "integer@plain/1t"] + [
                # Eigen built without OpenMP has one thread.
                f"{v}/{1 + n % 2 if v.startswith('openblas') else 1}t" for n, v in enumerate(vendors)]):
            trained = self.isobit_json("train", DIGITS, *CORRECT, "--out", f"r{number}", "--platform", platform)
            roots[platform] = (trained["final_state_root"], trained["transcript_root"])
            self.assertGreater(trained["inner_products"], 0)
        self.assertEqual(len(set(roots.values())), 1, roots)
        audited = self.isobit_json("audit", "r0", "--platform", f"{vendors[-1]}/1t")
        self.assertEqual(audited["verdict"], "accepted")
        for trained, platform in ((f"r{len(roots) - 1}", "integer@plain/2t"), ("r2", "ordered/1t")):
            self.assertEqual(self.isobit_json("audit", trained, "--platform", platform)["verdict"], "accepted")
        self.assertIn("no log", self.isobit("train", DIGITS, *CORRECT, "--out", "text").out)

    def test_integer_products_are_for_this_arithmetic(self):
        self.fails("-q", "train", DIGITS, *SHORT, "--out", "r", "--platform", "integer/1t", code=2, says=["ordered-1", "'ordered'"])
        self.fails("-q", "train", DIGITS, *SHORT, "--out", "r", "--platform", "integer@cube", code=2, says=["plain or amx"])
        self.assertIn("integer@plain", self.isobit("platforms").out)

    def test_what_a_vendor_cannot(self):
        self.fails("-q", "train", DIGITS, *SHORT, "--out", "r", "--platform", "openblas/1t", code=2, says=["ordered-1", "correct-1"])
        self.fails("-q", "train", DIGITS, *CORRECT, "--out", "r", "--platform", "openblas@no-such-core/1t", code=4,
                   says=["no-such-core"])


if __name__ == "__main__":
    main()
