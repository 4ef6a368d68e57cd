#!/usr/bin/env python3
"""What workers and labs of strangers may not do to the labs of others."""
import sqlite3

from isobit_cli import Case, main
from measure_test import FAKE, HASH, SOFTMAX


class Strangers(Case):
    def setUp(self):
        super().setUp()
        self.model = self.write("softmax.onnx", SOFTMAX)
        self.worker("")

    def worker(self, more):
        """Engines that are those of measure_test, but for what `more` does before they answer."""
        text = FAKE.replace("HASH_OF_BYTES", HASH).replace('if HASH in r["keep"]', more + 'if HASH in r["keep"]')
        self.write("engines/worker.py", text)

    def measure(self, lab, platforms, *arguments, **more):
        return self.isobit("--json", "measure", self.model, "--engines", self.path("engines"), "--out", self.path(lab),
                           "--platforms", platforms, *arguments, **more)

    def query(self, lab, sql):
        with sqlite3.connect(self.path(lab)) as database:
            return database.execute(sql).fetchall()

    def test_a_worker_that_writes_to_the_inputs_of_all_ends_the_sweep(self):
        self.worker("""
if e == "dies":
    e = "honest"
    with open(r["inputs"][0]["file"], "r+b") as f:
        f.seek(-8, 2)
        f.write(bytes(8))
""")
        # What ran before it is kept, and nothing that ran on other inputs than the record says.
        names = ["honest/1t", "dies/1t", "honest@fast/1t"]
        self.measure("m.lab", names[0], "--keep", "none")
        said = self.measure("m.lab", ",".join(names), "--keep", "none", code=3)
        self.assertIn("the inputs that all workers read were changed by one of them", said.err)
        self.assertEqual({name for (name,) in self.query("m.lab", "SELECT name FROM platforms")}, {"honest/1t"})

    def test_only_own_records_are_known(self):
        self.measure("theirs.lab", "honest/1t,refuses/1t", "--keep", "none")
        self.isobit("lab", "merge", "--into", self.path("m.lab"), self.path("theirs.lab"))
        # Whatever records of others say of platforms that are here, they are measured; then they are known.
        for counts in ((2, 0, 2), (0, 2, 0)):
            told = self.measure("m.lab", "honest/1t,refuses/1t", "--keep", "none")
            self.assertEqual(tuple(told.json()[key] for key in ("measured", "known", "of_others")), counts)
        said = self.isobit("measure", self.model, "--engines", self.path("engines"), "--out", self.path("theirs.lab"), "--platforms", "honest/1t")
        self.assertIn("; 1 was measured into this lab before", said.out)
        self.isobit("lab", "export", self.path("theirs.lab"), "--out", self.path("sent.lab"))
        said = self.isobit("measure", self.model, "--engines", self.path("engines"), "--out", self.path("sent.lab"), "--platforms", "honest/1t")
        self.assertIn("1 record of platforms that are here was not measured into this lab", said.err)
        # A record of another's that says otherwise decides nothing, nor does it make a platform disagree with itself.
        self.worker('HASH = "0" * 32\ngood["runs"][0]["values"][0]["hash"] = HASH\n')
        self.measure("false.lab", "honest/1t", "--keep", "none")
        self.worker("")
        self.isobit("lab", "merge", "--into", self.path("n.lab"), self.path("false.lab"))
        told = self.measure("n.lab", "honest/1t", "--keep", "none").json()
        self.assertEqual((told["measured"], told["known"]), (1, 0))
        self.assertEqual(told["comparison"]["repeated"]["disagree_with_themselves"], 0)
        self.assertIn("two records claim the same run of honest/1t", told["comparison"]["remarks"][0])
        self.isobit("compare", self.path("n.lab"), code=1)

    def test_a_drawing_replaces_no_lab(self):
        self.measure("m.lab", "honest/1t", "--keep", "none")
        with open(self.path("m.lab"), "rb") as file:
            whole = file.read()
        for name, words in (("m.lab", "is a lab"), ("m.lab-wal", "a part of"), ("m.lab-journal", "a part of")):
            self.fails("reveal", "sum", "--k", "4", "--svg", self.path(name), code=2, says=[name, words])
        with open(self.path("m.lab"), "rb") as file:
            self.assertEqual(file.read(), whole)
        self.isobit("compare", self.path("m.lab"), code=4)


if __name__ == "__main__":
    main()
