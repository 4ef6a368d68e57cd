"""Client, trainer and auditor: three homes, and nothing goes from one to another but files that are handed over."""
import os
import re
import shutil

from isobit_cli import DIGITS, STEPS, Case


class Home:
    """A party: its own home, its own folder to work in, and the files it has been given there."""

    def __init__(self, case, name):
        self.case, self.name = case, name
        os.makedirs(case.path(name))
        self.env = {"ISOBIT_HOME": case.path(name, "home"), "HOME": case.path(name, "nothing")}

    def path(self, *names):
        return self.case.path(self.name, *names)

    def __call__(self, *arguments, code=0):
        return self.case.isobit(*arguments, code=code, env=self.env, inside=self.name)

    def json(self, *arguments, code=0):
        return self("--json", *arguments, code=code).json()

    def fails(self, *arguments, code, says):
        return self.case.fails(*arguments, code=code, says=says, env=self.env, inside=self.name)

    def gives(self, file, receiver, name=None):
        source, target = self.path(file), receiver.path(name or os.path.basename(file))
        (shutil.copytree if os.path.isdir(source) else shutil.copy)(source, target)


class Parties(Case):
    def setUp(self):
        super().setUp()
        self.client, self.trainer, self.auditor = (Home(self, name) for name in ("client", "trainer", "auditor"))
        with open(DIGITS) as f:
            text = f.read()
        for key, value in (("steps", STEPS), ("warmup", 2)):
            text = re.sub(rf"(?m)^{key} *=.*$", f"{key} = {value}", text)
        for home in (self.client, self.trainer, self.auditor):
            self.write(os.path.join(home.name, "job.toml"), text)
        self.trainer("keygen", "--role", "trainer")
        self.trainer.gives("home/trainer.pub", self.client)

    def offer(self, *options, name="offer"):
        made = self.client.json("engage", "offer", "job.toml", "--trainer", "trainer.pub", "--out", name, *options)
        self.client.gives(name, self.trainer)
        return made

    def accept(self, name="offer", out="engagement", *options):
        made = self.trainer.json("engage", "accept", name, "--job", "job.toml", "--out", out, *options)
        self.trainer.gives(out, self.client)
        return made

    def train(self, out="run"):
        trained = self.trainer.json("train", "job.toml", "--engagement", "engagement", "--out", out)
        self.trainer.gives(out, self.auditor)
        return trained
