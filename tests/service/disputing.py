"""What the tests of disputes over a network share: a client's engagement, a dishonest trainer's run, an honest one of
who doubts it, certificates, and the three programs as processes that talk over loopback.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "cli"))
from isobit_cli import DIGITS, PROGRAM, SLOW, SOURCE, heeds_signals, slow  # noqa: E402

STEPS, AT = 12, 7
# What a verdict is, whoever carried the messages.
VERDICT = ("verdict", "level", "step", "node", "operator", "value", "entry", "element", "chunk", "rounds")


def wait_for(condition, seconds=60, what="something"):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"waited {seconds} s for {what}")


def resident(process):
    with open(f"/proc/{process.pid}/status") as f:
        return int(re.search(r"VmRSS:\s+(\d+) kB", f.read()).group(1)) * 1024


class Server:
    """An `isobit serve` and what it logged."""

    def __init__(self, case, name, arguments, listen="127.0.0.1:0"):
        self.case, self.name, self.log = case, name, case.fresh(name + ".log")
        with open(self.log, "w") as err:
            self.process = subprocess.Popen(
                [PROGRAM, "serve", *arguments, "--listen", listen, *case.tls(name, "--client-authority")],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err, cwd=case.dir, env=case.environment(name),
                preexec_fn=heeds_signals)
        case.addCleanup(self.kill)
        wait_for(lambda: self.process.poll() is not None or '"listening"' in self.text(), what=f"{name} to listen")
        if self.process.poll() is not None:
            raise AssertionError(f"{name} ended: {self.text()}")
        self.address = wait_for(lambda: self.events("listening"))[0]["address"]
        self.port = int(self.address.rsplit(":", 1)[1])

    def text(self):
        with open(self.log) as f:
            return f.read()

    def events(self, *names):
        """Those of these names; every whole line is one, and nothing else is written."""
        whole = self.text().rpartition("\n")[0]
        lines = [json.loads(line) for line in whole.split("\n")] if whole else []
        return [line for line in lines if not names or line["event"] in names]

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def stop(self, how=signal.SIGTERM, seconds=60):
        self.process.send_signal(how)
        return self.process.wait(seconds)


class Disputing(unittest.TestCase):
    response, restart = "20s", "20s"
    liar = "trainer"  # or the challenger
    cheat = f"sample@{AT}"
    files = ["engagement", "job.toml", "transcript", "heads"]  # what a challenger needs of the trainer's run
    settings = {}  # of the job: fields that it has, by their names alone
    tables = ""    # that it has besides

    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="isobit_service_")
        cls.addClassCleanup(shutil.rmtree, cls.dir, ignore_errors=True)
        with open(DIGITS) as f:
            text = f.read()
        for key, value in {"steps": STEPS, "warmup": 2, **cls.settings}.items():
            text = re.sub(rf"(?m)^{key} *=.*$", f"{key} = {value}", text)
        with open(os.path.join(cls.dir, "job.toml"), "w") as f:
            f.write(text + cls.tables)
        subprocess.run([os.path.join(SOURCE, "scripts", "dev_certificates"), "tls"], cwd=cls.dir, check=True,
                       stdout=subprocess.DEVNULL)
        for role, home in (("trainer", "trainer"), ("referee", "referee")):
            cls.run_isobit("keygen", "--role", role, home=home)
        cls.run_isobit("keygen", "--out", "doubt", home="challenger")
        cls.run_isobit("engage", "offer", "job.toml", "--trainer", "trainer.home/trainer.pub", "--referee",
                       "referee.home/referee.pub", "--response", cls.response, "--restart", cls.restart, "--out", "offer",
                       home="client")
        cls.run_isobit("engage", "accept", "offer", "--job", "job.toml", "--out", "engagement", home="trainer")
        for home, name, more in (("trainer", "theirs.run", ["--engagement", "engagement"]), ("challenger", "mine.run", [])):
            made = ["cheat", "--kind", cls.cheat.split("@")[0], "--at", str(AT)] if home == cls.liar else ["train"]
            cls.run_isobit(*made, "job.toml", "--out", name, *more, home=home)
        os.makedirs(os.path.join(cls.dir, "doubted"))
        for name in cls.files:
            theirs, copy = os.path.join(cls.dir, "theirs.run", name), os.path.join(cls.dir, "doubted", name)
            shutil.copytree(theirs, copy) if os.path.isdir(theirs) else shutil.copy(theirs, copy)
        # The homes have one client's key each or none: without one, both runs are taken at their own word.
        lies = ["--cheat" if cls.liar == "trainer" else "--challenger-cheat", cls.cheat]
        cls.local = json.loads(cls.run_isobit("--json", "dispute", "theirs.run", "mine.run", *lies,
                                              home="trainer", code=(0, 1)).stdout)

    @classmethod
    def environment(cls, home):
        env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "XDG_CONFIG_HOME")}
        env.update(ISOBIT_HOME=os.path.join(cls.dir, home + ".home"), HOME=cls.dir)
        return env

    @classmethod
    def run_isobit(cls, *arguments, home, code=0, **more):
        done = subprocess.run([PROGRAM, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=cls.dir,
                              env=cls.environment(home), **more)
        codes = (code,) if isinstance(code, int) else code
        if done.returncode not in codes:
            raise AssertionError(f"isobit {' '.join(arguments)}: {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done

    def setUp(self):
        self.own = tempfile.mkdtemp(prefix="test_", dir=self.dir)

    def fresh(self, name):
        """A name in this test's folder that nothing has yet."""
        number = 0
        while os.path.exists(os.path.join(self.own, f"{number}.{name}")):
            number += 1
        return os.path.join(self.own, f"{number}.{name}")

    def tls(self, name, authority):
        return ["--certificate", f"tls/{name}.crt", "--key", f"tls/{name}.key", authority, "tls/authority.crt"]

    def lie(self, party):
        return ["--cheat", self.cheat] if party == self.liar else []

    def trainer(self, *more, state="trainer.games", **rest):
        return Server(self, "trainer", ["theirs.run", *self.lie("trainer"), "--state", os.path.join(self.own, state), *more],
                      **rest)

    def challenger(self, *more, state="challenger.games", keys=("doubt.key",), **rest):
        named = [word for key in keys for word in ("--challenger-key", key)]
        whose = ["--as", "challenger", "--doubts", "doubted", "--engagement", "engagement", *named]
        return Server(self, "challenger", ["mine.run", *whose, *self.lie("challenger"), "--state",
                                           os.path.join(self.own, state), *more], **rest)

    def referee_words(self, trainer, challenger, *more):
        return ["dispute", "--connect", trainer, "--connect", challenger, "--job", "job.toml",
                *self.tls("referee", "--authority"), *more]

    def settle(self, trainer, challenger, *more, code=1):
        """The verdict of a referee between these addresses, as JSON."""
        done = self.run_isobit("--json", *self.referee_words(trainer, challenger, *more), home="referee", code=code)
        return json.loads(done.stdout)

    def start_referee(self, trainer, challenger, *more):
        process = subprocess.Popen([PROGRAM, "--json", *self.referee_words(trainer, challenger, *more)],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   cwd=self.dir, env=self.environment("referee"), preexec_fn=heeds_signals)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def assert_same(self, told):
        for key in VERDICT:
            self.assertEqual(told[key], self.local[key], key)


def main():
    unittest.main(verbosity=2)
