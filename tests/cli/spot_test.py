#!/usr/bin/env python3
"""Spot checks as a person runs them: isobit audit --spot."""
from isobit_cli import DIGITS, SHORT, Case, main


class Spot(Case):
    def setUp(self):
        super().setUp()
        self.train("d.run")

    def test_an_honest_run_passes(self):
        first = self.isobit_json("audit", "d.run", "--spot", "40", "--step", "7", "--seed", "00" * 16)
        self.assertEqual((first["verdict"], first["complete"], first["step"]), ("accepted", False, 7))
        self.assertEqual(len(first["elements"]), 40)
        for element in first["elements"]:
            self.assertLess(element["bytes"], 1 << 20)
        nodes, missed = first["nodes"], first["missed_in_one_node"]
        self.assertAlmostEqual(missed, (1 - 0.01 / nodes) ** 40)
        self.assertAlmostEqual(first["missed_in_every_node"], 0.99 ** 40)
        again = self.isobit_json("audit", "d.run", "--spot", "40", "--step", "7", "--seed", "00" * 16)
        self.assertEqual(again["elements"], first["elements"])
        other = self.isobit_json("audit", "d.run", "--spot", "40", "--step", "7")
        self.assertNotEqual(other["elements"], first["elements"])
        self.assertNotEqual(other["seed"], first["seed"])
        told = self.isobit("audit", "d.run", "--spot", "3").out
        self.assertIn("accepted (the elements that were checked)", told)

    def test_a_false_run_is_rejected(self):
        self.isobit("-q", "cheat", DIGITS, *SHORT, "--kind", "rate", "--at", "5", "--out", "false.run")
        found = self.isobit_json("audit", "false.run", "--spot", "300", "--step", "5", "--seed", "01" * 16, "--cheat",
                                 "rate@5", code=1)
        self.assertEqual(found["verdict"], "rejected")
        finding = found["finding"]
        self.assertEqual((finding["step"], finding["operator"], finding["level"]), (5, "isobit.Sgd", "element"))
        self.assertNotEqual(finding["claimed"], finding["right"])
        # Honest answers do not lead to the states that it signed.
        trace = self.isobit_json("audit", "false.run", "--spot", "1", "--step", "5", code=1)["finding"]
        self.assertEqual(trace["level"], "trace")
        told = self.isobit("audit", "false.run", "--spot", "300", "--step", "5", "--cheat", "rate@5", code=1).out
        self.assertIn("isobit.Sgd", told)

    def test_what_does_not_go_together_is_said(self):
        self.fails("audit", "d.run", "--spot", "0", code=2, says=["--spot 0"])
        self.fails("audit", "d.run", "--spot", "5", "--step", "13", code=2, says=["--step 13", "1 to 12"])
        self.fails("audit", "d.run", "--spot", "5", "--sample", "1", code=2, says=["--sample"])
        self.fails("audit", "d.run", "--step", "5", code=2, says=["--spot"])
        self.fails("audit", "d.run", "--cheat", "rate@1", code=2, says=["--spot"])
        self.fails("audit", "d.run", "--spot", "5", "--cheat", "rate", code=2, says=["KIND@STEP"])
        self.fails("audit", "d.run", "--spot", "5", "--seed", "00", code=2, says=["seed"])


if __name__ == "__main__":
    main()
