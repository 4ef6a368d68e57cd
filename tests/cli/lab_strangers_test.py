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


if __name__ == "__main__":
    main()
