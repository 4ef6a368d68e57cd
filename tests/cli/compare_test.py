#!/usr/bin/env python3
"""isobit compare and isobit lab: the published study against an independent computation, and labs made of it."""
import os
import re
import sqlite3
import subprocess
import sys

from isobit_cli import SOURCE, Case, main, shared_data

sys.path.insert(0, os.path.join(SOURCE, "tests", "oracles"))
import deviations_oracle as oracle  # noqa: E402
import lab_digests as digests  # noqa: E402


class Compare(Case):
    def study(self):
        return os.path.join(shared_data("deviations"), "equivalence_classes.tar.zst")

    def records(self):
        """The study unpacked, by a tar that is not isobit's."""
        folder = self.path("unpacked")
        os.makedirs(folder, exist_ok=True)
        done = subprocess.run(["tar", "--zstd", "-xf", self.study(), "-C", folder], capture_output=True, check=False)
        if done.returncode != 0:
            self.skipTest("skipped: no tar with zstd")
        return folder

    def compare(self, *arguments):
        return self.isobit_json("compare", *arguments, code=1)

    def test_the_study_gives_the_known_figures(self):
        told = self.compare(self.study())
        records = oracle.load(self.records())
        expected = oracle.cells(records)
        self.assertEqual(len(told["subjects"]), len(expected))
        for subject in told["subjects"]:
            cell = subject["subject"]["model"], subject["subject"]["settings"].removeprefix("input ")
            counts = subject["classes_by"]["counts"]
            with self.subTest(cell=cell):
                classes = (counts["CPU"], counts["GPU"], len(subject["classes"]))
                self.assertEqual(classes, oracle.KNOWN[cell])
                self.assertEqual(classes, expected[cell]["classes"])
                self.assertEqual({frozenset(c["platforms"]) for c in subject["classes"]}, expected[cell]["partition"])
                self.assertEqual(subject["remaining_precision"]["least"], expected[cell]["precision"])
                self.assertAlmostEqual(subject["largest_difference"]["absolute"], expected[cell]["difference"], 12)
        runs = [p["runs"] for s in told["subjects"] for p in s["platforms"]]
        self.assertEqual(sorted(runs), sorted(r["runs"] for r in records))
        self.assertEqual(told["repeated"], {"cells": 99, "disagree_with_themselves": 39})
        self.assertEqual(oracle.nondeterministic(records), (39, 99))

    def test_what_stands_behind_labels_stands_in_one_column(self):
        told = self.isobit("compare", self.study(), "--details", code=1).out
        labels = re.findall(r"^  ((?:class|group) \d+ +)\S", told, re.M)
        self.assertLess({"class 9 ", "class 10", "group 9 ", "group 10"}, {label[:8] for label in labels})
        self.assertEqual({len(label) for label in labels}, {16})

    def test_flags_of_cpus_with_two_cores(self):
        told = self.compare(self.study())
        medium = next(s for s in told["subjects"] if s["subject"]["model"] == "cifar10_medium")
        cohort = next(c for c in medium["flag_clusters"] if c["platforms_of"] == "gcloud, 2 cores")
        self.assertEqual(cohort["classes"], [1, 1, 2, 2, 3, 3, 4, 5, 5])
        self.assertEqual((cohort["flags"], cohort["common"], len(cohort["clusters"])), (125, 54, 15))
        self.assertEqual(oracle.table_1(oracle.load(self.records()))[1:], (125, 54, 15))
        self.assertEqual(sum(len(c["flags"]) for c in cohort["clusters"]), 125 - 54)

    def test_records_that_are_not_rounding_are_named(self):
        told = self.compare(self.study())
        for subject in told["subjects"]:
            platforms = {p["name"] for p in subject["platforms"]}
            local = {name for name in platforms if name.startswith("local/")}
            named = {name for group in subject["beyond_rounding"] for name in group}
            with self.subTest(subject=subject["subject"]["model"]):
                deep_weeds = subject["subject"]["model"] == "deep_weeds"
                self.assertEqual(named, local if deep_weeds else {"local/consumer-GTX_970"})
        self.assertEqual({(i["model"], i["platform"]) for i in told["input_independent"]},
                         {("cifar10_small", "local/consumer-GTX_970"), ("cifar10_medium", "local/consumer-GTX_970")})

    def test_folder_archive_and_lab_say_the_same(self):
        lab, again = self.path("study.lab"), self.path("sent.lab")
        self.isobit("lab", "merge", "--into", lab, self.study())
        self.isobit("lab", "export", lab, "--out", again)
        texts = []
        for source in (self.study(), self.records(), lab, again):
            told = self.compare(source)
            del told["remarks"]
            texts.append(told)
        self.assertEqual(texts[0], texts[1])
        self.assertEqual(texts[0], texts[2])
        self.assertEqual(texts[0], texts[3])
        merged = self.isobit_json("lab", "merge", "--into", lab, again)["merged"][0]
        self.assertEqual((merged["runs_added"], merged["tensors_added"]), (0, 0))

    def test_without_tensors_classes_stay(self):
        lab = self.path("bare.lab")
        self.isobit("lab", "merge", "--into", lab, self.study(), "--without-tensors")
        told = self.compare(lab)
        self.assertEqual([len(s["classes"]) for s in told["subjects"]], [25, 26, 26, 11, 11, 11, 26, 26, 26])
        self.assertIsNone(told["subjects"][0]["remaining_precision"]["least"])

    def local_lab(self, name):
        path = self.path(name)
        self.isobit("lab", "merge", "--into", path, os.path.join(self.records(), "equivalence_classes", "local", "cpu"))
        return path

    def hashed(self, name, model_sha256, input_sha256, platform_name="p"):
        """A lab of one run whose model and input were hashed, written without isobit."""
        path = self.path(name)
        database = sqlite3.connect(path)
        database.executescript(digests.schema_of_page(SOURCE) +
                               "PRAGMA application_id = 1769172066; PRAGMA user_version = 1;")
        subject = digests.subject_digest(1, "m.onnx", model_sha256, input_sha256, "")
        platform = digests.platform_digest(platform_name, "e", 0, {}, [])
        database.execute("INSERT INTO subjects VALUES (1, ?, 1, 'm.onnx', ?, ?, '')",
                         (subject, model_sha256, input_sha256))
        database.execute("INSERT INTO platforms VALUES (1, ?, ?, 'e', 0, ?, ?)",
                         (platform, platform_name, digests.u64(0), digests.u64(0)))
        value = digests.value("y", "", "float32", [1], "00" * 16, "", 1)
        database.execute("INSERT INTO runs VALUES (1, ?, 1, 1, 0, 0, 0.0, '')",
                         (digests.run_digest(subject, platform, 0, 0, "", [value]),))
        database.execute("INSERT INTO run_values VALUES (1, 0, 0, 'y', '', 'float32', ?, ?, '', 1)",
                         (digests.dims([1]), bytes(16)))
        database.commit()
        database.close()
        return path

    def test_different_models_are_not_compared(self):
        ones, twos, threes = (bytes([n]) * 32 for n in (0x11, 0x22, 0x33))
        a = self.hashed("a.lab", ones, threes)
        self.isobit("compare", a, self.hashed("elsewhere.lab", ones, threes, "q"))
        self.isobit("compare", a, self.hashed("same.lab", ones, threes), code=4)  # one run, in two labs
        refused = self.isobit("compare", a, self.hashed("b.lab", twos, threes), code=2)
        for words in ("models differ", "11" * 32, "22" * 32):
            self.assertIn(words, refused.err)
        self.assertNotIn("inputs differ", refused.err)
        refused = self.isobit("compare", a, self.hashed("c.lab", ones, twos), code=2)
        for words in ("inputs differ", "33" * 32, "22" * 32):
            self.assertIn(words, refused.err)
        self.assertNotIn("models differ", refused.err)

    def test_classes_are_counted_by_a_field_that_platforms_have(self):
        one = os.path.join(self.records(), "equivalence_classes", "local")
        refused = self.isobit("compare", one, "--by", "colour", code=2)
        for words in ("--by: found 'colour'", "device", "engine", "place"):
            self.assertIn(words, refused.err)
        subject = next(s for s in self.compare(one, "--by", "place")["subjects"])
        lines = self.isobit("compare", one, "--by", "place", "--details", code=1).out.splitlines()
        counts = ", ".join(f"{value}: {n}" for value, n in subject["classes_by"]["counts"].items())
        self.assertIn(f"  classes by place  {counts}", lines)
        subject = next(s for s in self.compare(one, "--by", "engine")["subjects"])
        self.assertEqual(subject["classes_by"], {"field": "engine", "counts": {"tensorflow": len(subject["classes"])}})

    def test_without_a_field_classes_are_counted_by_device_or_else_by_engine(self):
        study = next(s for s in self.compare(os.path.join(self.records(), "equivalence_classes", "local"))["subjects"])
        self.assertEqual((study["classes_by"]["field"], set(study["classes_by"]["counts"])), ("device", {"CPU", "GPU"}))
        ones = bytes([0x11]) * 32
        one, other = (self.hashed(f"{name}.lab", ones, ones, name) for name in ("p", "q"))
        subject = self.isobit_json("compare", one, other)["subjects"][0]
        self.assertEqual(subject["classes_by"], {"field": "engine", "counts": {"e": 1}})
        self.assertIn("  classes by engine  e: 1\n", self.isobit("compare", one, other).out)

    def test_what_is_no_lab_is_refused(self):
        junk = self.write("junk.lab", b"SQLite format 3\0 not really")
        for path in (junk, self.path("nothing.lab"), "/dev/null"):
            refused = self.isobit("compare", path, code=3)
            self.assertIn(os.path.basename(path), refused.err)
        os.makedirs(self.path("empty"))
        self.assertIn("no *.json", self.isobit("compare", self.path("empty"), code=3).err)
        self.write("empty/x-net-i0.json", b'{"model_type": "net"}')
        self.assertIn("cpu_info", self.isobit("compare", self.path("empty"), code=3).err)

    def test_an_export_replaces_nothing(self):
        lab = self.local_lab("d.lab")
        self.isobit("lab", "export", lab, "--out", lab, code=2)
        self.isobit("compare", lab, code=1)

    def test_the_text_says_it_at_once(self):
        text = self.isobit("compare", self.study(), code=1).out
        for words in ("39 of 99", "classes 1,1,2,2,3,3,4,5,5", "125 flags, 54 common to all, the others in 15 clusters",
                      "cifar10_large is left out"):
            self.assertIn(words, text)
        one = self.isobit("compare", os.path.join(self.records(), "equivalence_classes", "local", "cpu"), "--details",
                          code=1).out
        self.assertIn("4 ran, with ", one)
        self.assertIn("bits of the significand agree", one)


if __name__ == "__main__":
    main()
