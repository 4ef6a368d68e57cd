#!/usr/bin/env python3
"""What is printed where: help, versions, JSON, quiet, colour, progress."""
import os
import re
import shutil
import subprocess

from isobit_cli import DIGITS, JOBS, SHORT, Case, contents, main, overrides

COMMANDS = ["train", "engage offer", "engage accept", "engage show", "audit", "verify", "open", "info", "eval", "export", "pack", "unpack",
            "job check", "platforms", "thresholds", "keygen", "cheat", "answer", "dispute", "serve", "costs", "run", "reveal", "measure", "compare",
            "explain", "lab export", "lab merge", "completion", "man"]
ESCAPE = "\x1b["


class Help(Case):
    def test_every_command_has_help_with_examples(self):
        for command in COMMANDS:
            for flag in ("--help", "-h"):
                result = self.isobit(*command.split(), flag)
                self.assertEqual(result.err, "")
                self.assertIn("Examples:\n", result.out, command)
                self.assertRegex(result.out, rf"Examples:\n *isobit {command}\b", command)
                self.assertLessEqual(max(map(len, result.out.splitlines())), 140, command)

    def test_every_command_knows_the_version(self):
        version = self.isobit("--version").out
        self.assertRegex(version, r"^isobit \d+\.\d+\.\d+\n$")
        for command in COMMANDS:
            self.assertEqual(self.isobit(*command.split(), "--version").out, version, command)

    def test_the_program_lists_its_commands_and_exit_codes(self):
        text = self.isobit("--help").out
        for command in COMMANDS:
            self.assertRegex(text, rf"(?m)^ +{command.split()[0]}\b")
            self.assertIn("--json", self.isobit(*command.split(), "--help").out)
        for code in ("0", "1", "2", "3", "4", "130"):
            self.assertRegex(text, rf"(?s)Exit codes:.*\b{code}\b")
        listed = re.findall(r"(?m)^  ([a-z]+)  ", text)
        self.assertLessEqual(set(listed), {c.split()[0] for c in COMMANDS}, "a command that is not tested")

    def test_usage_errors(self):
        for command in COMMANDS:
            self.fails(*command.split(), "--no-such-option", code=2,
                       says=["there is no option '--no-such-option'", f"isobit {command} --help"])
        self.fails("audit", "x.run", "--plattform", "ordered", code=2, says=["did you mean '--platform'?"])
        self.fails("audit", "x.run", "--qiet", code=2, says=["did you mean '--quiet'?"])
        self.fails(code=2, says=["--help"])
        self.fails("job", code=2, says=["--help"])
        self.fails("trian", DIGITS, code=2, says=["no command 'trian'; did you mean 'train'?"])
        self.fails("-q", "aduit", "x.run", code=2, says=["no command 'aduit'; did you mean 'audit'?"])
        self.fails("engage", "ofer", "x", code=2, says=["no command 'engage ofer'; did you mean 'engage offer'?"])
        self.fails("job", "nonsense", code=2, says=["no command 'job nonsense'; see 'isobit job --help'"])
        self.fails("audit", code=2, says=["RUN"])
        self.fails("train", code=2, says=["JOB.toml", "--resume"])
        self.fails("train", DIGITS, "--out", code=2, says=["--out needs a value"])
        self.fails("audit", "x.run", "--from", "soon", code=2, says=["--from", "'soon'", "whole number"])
        self.fails("audit", "x.run", "--from", "-3", code=2, says=["--from", "'-3'"])
        self.fails("audit", "x.run", "--from", "99999999999999999999", code=2, says=["--from"])
        self.fails("platforms", "--color", "sometimes", code=2, says=["--color", "'sometimes'", "auto, always or never"])
        self.assertIn('"code": 2', self.isobit("audit", "--json", code=2).out)
        self.fails("train", DIGITS, "extra", code=2, says=["extra"])
        self.fails("export", "x.run", code=2, says=["--out"])

    def test_an_option_given_twice(self):
        self.fails("train", DIGITS, "--out", "a", "--out", "b", code=2, says=["--out"])
        self.assertEqual(os.listdir(self.dir), [])


class Generated(Case):
    def test_bash_takes_the_completion(self):
        script = self.isobit("completion").out
        if shutil.which("bash") is None:
            self.skipTest("skipped: no bash")
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)
        ask = script + "\nCOMP_WORDS=(isobit %s); COMP_CWORD=%d; _isobit; echo ${COMPREPLY[*]}\n"

        def words(line, at):
            return subprocess.run(["bash"], input=ask % (line, at), text=True, check=True,
                                  capture_output=True).stdout.split()
        self.assertEqual(words("tr", 1), ["train"])
        self.assertIn("--platform", words("train --p", 2))
        self.assertIn("check", words("job c", 2))
        self.assertIn("--platform", words("job check --p", 3))

    def test_the_manual_page_is_one(self):
        page = self.isobit("man").out
        for command in COMMANDS:
            self.assertIn(f".SS {command}\n", page)
        groff = shutil.which("groff")
        if groff is None:
            self.skipTest("skipped: no groff")
        done = subprocess.run([groff, "-man", "-Tutf8", "-ww"], input=page, text=True, capture_output=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        plain = re.sub("\x1b\\[[0-9;]*m|.\b", "", done.stdout)
        for words in ("isobit train examples/jobs/digits.toml --out digits.run", "EXIT STATUS", "ISOBIT_HOME"):
            self.assertIn(words, plain)

    def test_platforms_agree(self):
        platforms = self.isobit_json("platforms")
        self.assertGreaterEqual(len(platforms), 2)
        self.assertEqual(len({p["digest"] for p in platforms}), 1, platforms)
        self.assertEqual([p["default"] for p in platforms].count(True), 1)
        text = self.isobit("platforms").out
        for p in platforms:
            self.assertIn(p["platform"], text)

    def test_the_price_of_a_job(self):
        price = self.isobit_json("job", "check", DIGITS)
        for field in ("seconds", "seconds_per_step", "memory_bytes", "disk_bytes", "state_bytes", "parameters"):
            self.assertGreater(price[field], 0, field)
        self.assertGreater(price["disk_bytes"], price["state_bytes"])
        result = self.isobit("job", "check", DIGITS)
        for word in ("time", "memory", "disk", "commitments"):
            self.assertRegex(result.out, rf"(?m)^{word} ")
        self.assertEqual(result.err, "")
        self.assertNotIn("log_bytes_per_step", price)
        self.assertNotRegex(result.out, r"(?m)^log ")
        for log in ("sparse", "ovt"):
            logged = overrides("job.arithmetic=logged-1", f"rounding.log={log}")
            price = self.isobit_json("job", "check", DIGITS, *logged)
            self.assertGreater(price["log_bytes_per_step"], 0)
            self.assertGreater(price["disk_bytes"], price["steps"] * price["log_bytes_per_step"] + price["state_bytes"])
            self.assertRegex(self.isobit("job", "check", DIGITS, *logged).out, r"(?m)^log +about \d.* a step, ")
        self.assertEqual(os.listdir(self.dir), [], "nothing is written, no keys are made")

    def test_every_example_reads(self):
        for name in sorted(n for n in os.listdir(JOBS) if n.endswith(".toml")):
            result = self.isobit("job", "check", os.path.join(JOBS, name), *overrides("data.batch=4", "data.micro_batches=1"),
                                 code=(0, 3))
            if result.code == 3:  # its data are not here; everything before them was right
                self.assertRegex(result.err, r"data\.(path|labels_path)|cannot (open|list)", str(result))


class Streams(Case):
    def test_json_and_nothing_else(self):
        result = self.isobit("train", DIGITS, *SHORT, "--out", "r", "--json")
        self.assertEqual(result.err, "", "no progress where stderr is no terminal, no remarks under --json")
        trained = result.json()
        for field in ("final_state_root", "transcript_root"):
            self.assertRegex(trained[field], r"^[0-9a-f]{64}$")
        self.assertEqual(trained["steps"], 12)
        for field in ("final_loss", "test_top1", "seconds"):
            self.assertIsInstance(trained[field], float)
        self.assertTrue(trained["platform"].startswith("ordered@"))

        result = self.isobit("--json", "audit", "r")
        self.assertEqual(result.err, "")
        audited = result.json()
        self.assertEqual(audited["verdict"], "accepted")
        self.assertEqual(audited["steps_checked"], 12)
        self.assertIsNone(audited["first_difference"])
        self.assertGreater(audited["seconds"], 0)

        for command in (["verify", "r"], ["info", "r"], ["eval", "r"], ["export", "r", "--out", "w"], ["platforms"],
                        ["keygen", "--out", "k"], ["job", "check", DIGITS]):
            result = self.isobit(*command, "--json")
            result.json()
            self.assertEqual(result.err, "", command)

    def test_errors_are_json_too(self):
        result = self.isobit("--json", "info", "nowhere", code=3)
        document = result.json()
        self.assertEqual(document["code"], 3)
        self.assertEqual(result.err, f"isobit: {document['error']}\n")

    def test_people_get_lines(self):
        result = self.isobit("train", DIGITS, *SHORT, "--out", "r")
        self.assertEqual(result.err.count("\n"), 1, "the remark that keys were made")
        self.assertIn(self.path("keys"), result.err)
        for line in ("trained ", "final loss ", "test ", "state root ", "transcript ", "run "):
            self.assertRegex(result.out, rf"(?m)^{line}")
        self.assertIn("isobit audit r", result.out)
        result = self.isobit("audit", "r")
        self.assertEqual(result.err, "")
        self.assertRegex(result.out, r"^verdict +accepted\nchecked +12 steps on ordered@")
        self.assertNotIn("\x1b", result.out)

    def test_quiet(self):
        result = self.isobit("train", "-q", DIGITS, *SHORT, "--out", "r")
        self.assertEqual(result.err, "")
        self.assertIn("state root", result.out)
        code, shown = self.on_terminal("--quiet", "train", DIGITS, *SHORT, "--out", "s")
        self.assertEqual(code, 0)
        self.assertNotIn("step 12/12", shown)
        self.assertNotIn("\x1b[K", shown)

    def test_progress_on_a_terminal(self):
        code, shown = self.on_terminal("train", DIGITS, *SHORT, "--out", "r")
        self.assertEqual(code, 0, shown)
        self.assertRegex(shown, r"\r\x1b\[Kstep 12/12   loss \d\.\d+   rate \S+   [\d.e+]+ steps/s   0\.0 s left")
        last = shown[shown.rindex("\x1b[K") + 3:]
        self.assertTrue(last.startswith("trained"), "the line of progress is gone before the result")
        code, shown = self.on_terminal("audit", "r", "--platform", "ordered@portable/1t")
        self.assertEqual(code, 0, shown)
        self.assertRegex(shown, r"checked \d+/12 steps   .* left")

    def test_colour(self):
        self.train("r")
        before = contents(self.path("r"))
        green = "\x1b[32maccepted\x1b[0m"
        verify = ["verify", "r"]
        self.assertIn(green, self.isobit("--color", "always", *verify).out)
        self.assertIn(green, self.isobit("--color", "always", *verify, env={"NO_COLOR": "1"}).out)
        for more, env in (([], {}), (["--color", "never"], {}), (["--color", "auto"], {"NO_COLOR": "1"})):
            self.assertNotIn(ESCAPE, self.isobit(*more, *verify, env=env).out)
        self.assertIn(green, self.on_terminal(*verify)[1])
        self.assertIn(green, self.on_terminal(*verify, env={"NO_COLOR": ""})[1])
        self.assertNotIn(ESCAPE, self.on_terminal(*verify, env={"NO_COLOR": "1"})[1])
        self.assertNotIn(ESCAPE, self.on_terminal(*verify, env={"TERM": "dumb"})[1])
        self.assertNotIn(ESCAPE, self.on_terminal("--color", "never", *verify)[1])
        self.assertNotIn("\x1b", self.isobit("--color", "always", "--json", *verify).out)
        self.assertEqual(contents(self.path("r")), before, "verify writes nothing")

    def test_a_closed_pipe_is_no_crash(self):
        self.isobit("train", "-q", DIGITS, *SHORT, "--out", "first")  # makes the keys
        shell = f'"$ISOBIT" man | head -1 > head.txt; "$ISOBIT" train "{DIGITS}" {" ".join(SHORT)} --out r | true'
        env = self.environment(ISOBIT=os.environ.get("ISOBIT", "isobit"))
        subprocess.run(["sh", "-c", shell], cwd=self.dir, env=env, check=True, timeout=300)
        self.assertEqual(self.isobit_json("verify", "r")["verdict"], "accepted")

    def test_overrides_are_part_of_the_run(self):
        self.train("r", *overrides("job.seed=7"))
        self.assertIn("seed = 7", contents(self.path("r"))["job.toml"].decode())


if __name__ == "__main__":
    main()
