#!/usr/bin/env python3
"""A run from its keys to its audit: train, audit, verify, info, eval, export, keygen, cheat (with --slow all kinds, and every platform)."""
import os
import re
import shutil

from isobit_cli import DIGITS, SHORT, SLOW, STEPS, Case, contents, files_of, main, overrides


class Honest(Case):
    def test_accepted_everywhere(self):
        trained = self.train("r", "--platform", "ordered@portable/1t")
        self.assertEqual(trained["platform"], "ordered@portable/1t")
        before = contents(self.path("r"))
        platforms = [p["platform"] for p in self.isobit_json("platforms")] + ["ordered/3t"]
        for platform in [p for p in platforms if SLOW or "@reference" not in p]:  # a hundred times slower than the best
            audited = self.isobit_json("audit", "r", "--platform", platform)
            self.assertEqual((audited["verdict"], audited["steps_checked"]), ("accepted", STEPS), platform)
            self.assertTrue(audited["complete"])
        self.assertEqual(contents(self.path("r")), before, "an audit writes nothing")
        self.assertEqual(files_of(self.path("r")), sorted(
            ["engagement", "heads", "job.toml", "manifest.json", "manifest.sig", "transcript"] +
            [f"checkpoints/step-{s}.safetensors" for s in (4, 8, 12)]))

        verified = self.isobit_json("verify", "r")
        self.assertEqual((verified["verdict"], verified["replayed"]), ("accepted", False))
        info = self.isobit_json("info", "r")
        self.assertTrue(info["finished"])
        self.assertEqual((info["steps"], info["steps_done"], info["checkpoints"]), (STEPS, STEPS, [4, 8, 12]))
        for field in ("final_state_root", "transcript_root", "job_root", "test_top1"):
            self.assertEqual(info[field], trained[field], field)
        self.assertEqual(info["facts"]["platform"], "ordered@portable/1t")
        self.assertRegex(info["facts"]["seconds"], r"^\d+(\.\d{1,3})?$")
        text = self.isobit("info", "r").out
        for value in (trained["final_state_root"], trained["transcript_root"], "finished", "4, 8, 12"):
            self.assertIn(value, text)

    def test_the_platform_reaches_no_bit(self):
        roots = set()
        for number, platform in enumerate(["ordered", "ordered/1t", "ordered/8t", "ordered@portable/2t"]):
            trained = self.train(f"r{number}", "--platform", platform)
            roots.add((trained["final_state_root"], trained["transcript_root"], trained["job_root"]))
        self.assertEqual(len(roots), 1)

    def test_part_of_an_audit(self):
        self.train("r")
        audited = self.isobit_json("audit", "r", "--from", "8")
        self.assertEqual((audited["verdict"], audited["steps_checked"], audited["complete"]), ("accepted", 4, False))
        self.assertIn("the part that was checked", self.isobit("audit", "r", "--from", "8").out)
        audited = self.isobit_json("audit", "r", "--sample", "3", "--seed", "00ff" * 8)
        self.assertEqual((audited["verdict"], audited["intervals"], len(audited["sampled"])), ("accepted", STEPS, 4))
        self.assertEqual((audited["sampled"][-1], audited["seed"]), ([STEPS, STEPS], "00ff" * 8))
        self.assertAlmostEqual(audited["detection_probability"], 3 / (STEPS - 1))
        again = self.isobit_json("audit", "r", "--sample", "3", "--seed", "00ff" * 8, "--verdict", "v")
        shown = self.isobit_json("verify", "v")
        self.assertEqual((shown["sample"], shown["complete"]),
                         ({"seed": "00ff" * 8, "intervals": audited["intervals"], "drawn": 3}, False))
        self.assertIn("00ff" * 8, self.isobit("verify", "v").out)
        self.fails("audit", "r", "--sample", "3", "--seed", "00" * 1025, code=2, says=["--seed", "1025 bytes", "at most 1024"])
        self.assertEqual(audited["sampled"], again["sampled"])
        drawn = self.isobit("audit", "r", "--sample", "2")
        self.assertRegex(drawn.out, r"(?m)^sample seed +[0-9a-f]{64}$")
        # The seed is a part of the result, however little else is said.
        seed = re.search(r"(?m)^sample seed +([0-9a-f]{64})$", self.isobit("-q", "audit", "r", "--sample", "2").out)[1]
        first, second = (self.isobit_json("audit", "r", "--sample", "2", "--seed", seed) for _ in range(2))
        self.assertEqual((first["sampled"], first["seed"]), (second["sampled"], seed))
        self.assertEqual(self.isobit_json("audit", "r", "--sample", "999")["steps_checked"], STEPS)
        self.fails("audit", "r", "--from", "5", code=2, says=["--from 5", "4, 8, 12"])
        self.fails("audit", "r", "--from", "12", code=2, says=["--from 12", "checks nothing"])
        self.fails("audit", "r", "--from", "4", "--sample", "1", code=2, says=["--from", "--sample"])
        self.fails("audit", "r", "--sample", "0", code=2, says=["--sample 0"])
        self.fails("audit", "r", "--seed", "00", code=2, says=["--sample"])
        self.fails("audit", "r", "--sample", "1", "--seed", "00" * 15, code=2, says=["--seed", "15 bytes", "at least 16"])
        self.fails("audit", "r", "--sample", "1", "--seed", "xyz", code=2, says=["--seed", "xyz"])

    def test_weights_give_the_score_of_the_training(self):
        trained = self.train("r")
        scored = self.isobit_json("eval", "r")
        self.assertEqual(scored["step"], STEPS)
        for field in ("top1", "top5", "loss", "samples"):
            self.assertEqual(scored[field], trained["test_" + field], field)
        self.isobit("export", "r", "--out", "w.safetensors")
        # A learning rate is no part of the weights: the plain job scores them the same.
        again = self.isobit_json("eval", DIGITS, "--weights", "w.safetensors", "--platform", "ordered/1t")
        for field in ("top1", "top5", "loss", "samples"):
            self.assertEqual(again[field], scored[field], field)
        early = self.isobit_json("eval", "r", "--step", "4")
        self.assertEqual(early["step"], 4)
        self.assertNotEqual(early["loss"], scored["loss"])
        self.fails("eval", "r", "--step", "5", code=2, says=["step 5", "4, 8, 12"])
        self.fails("eval", DIGITS, "--weights", "w.safetensors", "--step", "4", code=2, says=["--step"])
        exported = self.isobit_json("export", "r", "--out", "all.safetensors", "--all", "--step", "8")
        self.assertEqual(exported["step"], 8)
        self.assertGreater(os.path.getsize(self.path("all.safetensors")),
                           os.path.getsize(self.path("w.safetensors")))

    def test_weights_for_another_model(self):
        self.train("r")
        self.isobit("export", "r", "--out", "w.safetensors")
        self.fails("eval", DIGITS, "--weights", "w.safetensors", "--set", "model.builder='logistic'", code=3,
                   says=["w.safetensors"])

    def test_a_run_is_never_overwritten(self):
        self.train("r")
        before = contents(self.path("r"))
        self.fails("train", DIGITS, *SHORT, "--out", "r", code=2, says=["r: holds a run already", "--out"])
        self.fails("train", "--resume", "r", code=2, says=["finished", "nothing to resume"])
        self.assertEqual(contents(self.path("r")), before)
        self.write("full/letter.txt", "dear reader")
        self.fails("train", DIGITS, *SHORT, "--out", "full", code=2, says=["full", "not an empty folder"])
        self.assertEqual(contents(self.path("full")), {"letter.txt": b"dear reader"})
        self.fails("train", "--resume", "full", code=3, says=["full", "not a run"])
        self.fails("train", "--resume", "nowhere", code=2, says=["nowhere", "no run has begun"])
        self.fails("train", DIGITS, "--resume", "r", code=2, says=["JOB.toml", "--resume"])

    def test_the_folder_of_a_run_has_a_name(self):
        os.makedirs(self.path("empty"))
        self.isobit("train", DIGITS, *SHORT)
        self.assertEqual(self.isobit_json("verify", "digits.run")["verdict"], "accepted")
        self.isobit("train", DIGITS, *SHORT, "--out", "empty")
        self.isobit("train", DIGITS, *SHORT, "--out", "deep/down/r")
        self.assertEqual(self.isobit_json("verify", "deep/down/r/")["verdict"], "accepted")


class Keys(Case):
    def mode(self, *names):
        return os.stat(self.path(*names)).st_mode & 0o777

    def test_made_once(self):
        self.train("r")
        pairs = ["client.key", "client.pub", "trainer.key", "trainer.pub"]
        self.assertEqual([name for name in files_of(self.path("keys")) if os.sep not in name], pairs)
        for name in ("client.key", "trainer.key"):
            self.assertEqual(self.mode("keys", name), 0o600)
        before = contents(self.path("keys"))
        self.train("s")
        after = contents(self.path("keys"))
        self.assertEqual({name: after[name] for name in before}, before, "nothing that is there is changed")
        self.assertEqual([os.path.dirname(name) for name in after.keys() - before.keys()], ["begun"])
        self.assertEqual(sorted(name for name in before if os.sep not in name), pairs)
        secrets = [text.split()[-1] for name, text in before.items() if name.endswith(".key")]
        for name, data in contents(self.path("r")).items():
            for secret in secrets:
                self.assertNotIn(secret, data, f"a secret key in {name}")

    def test_keygen(self):
        made = self.isobit_json("keygen", "--out", "mine")
        self.assertEqual(made["secret"], "mine.key")
        self.assertRegex(made["key"], r"^[0-9a-f]{64}$")
        self.assertEqual(self.mode("mine.key"), 0o600)
        before = contents(self.dir)
        self.fails("keygen", "--out", "mine", code=2, says=["mine.key", "never overwritten"])
        os.remove(self.path("mine.key"))
        self.fails("keygen", "--out", "mine", code=2, says=["mine.pub", "never overwritten"])
        self.assertEqual(files_of(self.dir), ["mine.pub"])
        self.assertNotEqual(self.isobit_json("keygen", "--out", "other")["key"], made["key"])
        self.assertEqual(len(before), 2)
        self.fails("keygen", code=2, says=["--role", "--out", "--salt"])
        self.fails("keygen", "--out", "no/such/folder/k", code=4, says=["no/such/folder/k"])

    def test_a_client_elsewhere(self):
        self.train("r")
        shutil.copy(self.path("keys", "client.pub"), self.path("theirs.pub"))
        shutil.rmtree(self.path("keys"))
        self.fails("audit", "r", code=3, says=["client.pub", "--client-key"])
        self.fails("verify", "r", code=3, says=["client.pub", "--client-key"])
        self.assertEqual(self.isobit_json("audit", "r", "--client-key", "theirs.pub")["verdict"], "accepted")
        keys = [name for name in files_of(self.path("keys")) if name.endswith((".key", ".pub"))]
        self.assertEqual(keys, [], "an audit makes no keys")
        self.isobit("keygen", "--out", "mine")
        rejected = self.isobit_json("audit", "r", "--client-key", "mine.pub", code=1)
        self.assertEqual((rejected["verdict"], rejected["steps_checked"]), ("rejected", 0))
        self.assertIn("client", rejected["reason"])
        self.write("bad.pub", "not a key\n")
        self.fails("audit", "r", "--client-key", "bad.pub", code=3, says=["bad.pub"])
        self.fails("audit", "r", "--client-key", "mine.key", code=3, says=["mine.key"])

    def test_a_salt_hides_data_and_changes_no_weight(self):
        plain = self.train("plain")
        self.isobit("keygen", "--salt", "my.salt")
        self.assertRegex(contents(self.dir)["my.salt"].decode(), r"^[0-9a-f]{64}\n$")
        self.fails("keygen", "--salt", "my.salt", code=2, says=["my.salt", "not overwritten"])
        salted = self.train("salted", "--set", "data.salt=my.salt")
        self.assertNotEqual(salted["job_root"], plain["job_root"])
        self.assertNotEqual(salted["transcript_root"], plain["transcript_root"])
        self.assertEqual(salted["final_state_root"], plain["final_state_root"])
        self.assertEqual(self.isobit_json("audit", "salted")["verdict"], "accepted")
        self.isobit("keygen", "--salt", "other.salt")
        wrong = self.isobit_json("audit", "salted", "--set", "data.salt=other.salt", code=1)
        self.assertEqual((wrong["verdict"], wrong["first_difference"]["part"]), ("rejected", "job"))
        self.write("bad.salt", "12\n")
        self.fails("train", DIGITS, *SHORT, "--out", "x", "--set", "data.salt=bad.salt", code=3, says=["bad.salt"])
        self.assertFalse(os.path.exists(self.path("x")))


class Cheats(Case):
    def kinds(self):
        kinds = re.findall(r"(?m)^ +(\w+): ", self.isobit("cheat", "--help").out)
        self.assertGreaterEqual(len(kinds), 5, kinds)
        return [kind for kind in kinds if kind != "value"]  # of a receipt: receipt_test.py

    def test_found_at_its_step(self):
        for kind in self.kinds()[::1 if SLOW else 3]:
            at_the_end = kind in ("overwrite", "inflate")
            step = STEPS if at_the_end else 7
            at = [] if at_the_end else ["--at", str(step)]
            step = {"initial": 0, "prefix": 1}.get(kind, step)  # where it is found
            self.isobit("cheat", DIGITS, *SHORT, "--kind", kind, *at, "--out", kind)
            if kind == "overwrite":  # the last step and the final leaf contradict each other: no replay is needed
                self.assertIn("different states", self.isobit_json("verify", kind, code=1)["reason"])
            else:
                self.assertEqual(self.isobit_json("verify", kind)["verdict"], "accepted", "well-formed all the same")
            audited = self.isobit_json("audit", kind, "--platform", "ordered/1t", code=1)
            difference = audited["first_difference"]
            self.assertEqual((audited["verdict"], difference["step"]), ("rejected", step), (kind, audited))
            self.assertEqual((difference["first_step"], difference["last_step"]), (step, step), (kind, audited))
            self.assertIsNone(difference["operator"])
            self.assertIn(difference["part"], audited["reason"])
            text = self.isobit("audit", kind, code=1)
            self.assertRegex(text.out, rf"verdict +rejected\nchecked .*\nmemory .*\nfirst differs {difference['part']} at step {step}\n")
            self.assertEqual(text.err, "")

    def test_found_in_its_interval(self):
        rare = overrides("commit.every=5")
        for kind in ("rate", "momentum", "sample"):
            self.isobit("cheat", DIGITS, *SHORT, *rare, "--kind", kind, "--at", "7", "--out", kind)
            difference = self.isobit_json("audit", kind, code=1)["first_difference"]
            self.assertLessEqual(difference["first_step"], 7)
            self.assertGreaterEqual(difference["last_step"], 7)
            self.assertGreater(difference["first_step"], 5)
            self.assertLessEqual(difference["last_step"], 10)

    def test_a_part_that_is_honest(self):
        self.isobit("cheat", DIGITS, *SHORT, "--kind", "rate", "--at", "3", "--out", "r")
        self.assertEqual(self.isobit_json("audit", "r", "--from", "8")["verdict"], "accepted")
        self.assertEqual(self.isobit_json("audit", "r", code=1)["first_difference"]["step"], 3)

    def test_usage(self):
        cheat = ["cheat", DIGITS, *SHORT, "--out", "x"]
        self.fails(*cheat, "--kind", "momentun", code=2, says=["momentun", "did you mean 'momentum'?"])
        self.fails(*cheat, "--kind", "rate", "--at", "0", code=2, says=["--at 0", "1 to 12"])
        self.fails(*cheat, "--kind", "rate", "--at", "13", code=2, says=["--at 13", "1 to 12"])
        self.assertFalse(os.path.exists(self.path("x")))


if __name__ == "__main__":
    main()
