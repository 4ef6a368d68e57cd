"""Where a cheater meets isobit: keys, honest runs to start from, and the program run under a watch.

ISOBIT names the program, ISOBIT_SOURCE_DIR the tree. Every command that judges a run gets a home of its own with nothing
but the client's public key: no secret of anybody, and no memory of what was judged before.
"""
import json
import os
import re
import resource
import shutil
import sys
import tempfile

from bundle import read_run
from ed25519 import Key
from watch import Watch

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.environ.get("ISOBIT_SOURCE_DIR", os.path.dirname(os.path.dirname(HERE)))
PROGRAM = os.environ.get("ISOBIT", "isobit")

# No verdict on a run of the size of the digits may take more, whatever a cheater has put into it. A sanitizer keeps what was
# freed, and is slow.
UNDER_SANITIZERS = "ISOBIT_SANITIZED" in os.environ
MAX_SECONDS, MAX_BYTES = (60, 4 << 30) if UNDER_SANITIZERS else (10, 512 << 20)
HANGS_AFTER = 1200  # what hangs is ended; a busy machine is no finding
SANITIZED = re.compile(r"AddressSanitizer|runtime error:|LeakSanitizer|ThreadSanitizer")

# Five steps, of which those without a committed state are the first, the third and the last.
JOB = """[job]
name = "attacked"
seed = 7
steps = 5
arithmetic = "{arithmetic}"
[model]
builder = "digits-cnn"
[data]
dataset = "digits"
batch = 8
[optimizer]
name = "sgd"
lr = 0.05
momentum = 0.9
weight_decay = 5e-4
[schedule]
name = "cosine"
warmup = 2
[evaluate]
samples = 60
[commit]
every = 2
[checkpoint]
every = 2
keep = 3
{rounding}"""

ARITHMETICS = {
    "ordered-1": ("ordered-1", ""),
    "correct-1": ("correct-1", ""),
    # Near-ties in every step: the bound that the job would have by itself is 32.
    "sparse": ("logged-1", "[rounding]\ndivergence = 4096\n"),
    "ovt": ("logged-1", "[rounding]\nlog = \"ovt\"\ndivergence = 4096\n"),
}


def job_text(arithmetic):
    name, rounding = ARITHMETICS[arithmetic]
    return JOB.format(arithmetic=name, rounding=rounding)


class Outcome:
    def __init__(self, arguments, out, err, done):
        self.arguments, self.out, self.err = arguments, out, err
        self.code, self.seconds, self.processor, self.peak = (
            done[key] for key in ("code", "seconds", "processor", "peak"))

    def took_too_much(self):
        """Processor time: a busy machine convicts nobody. Whoever waits instead of computing hangs, and is ended."""
        return self.processor > MAX_SECONDS or self.peak > MAX_BYTES

    def json(self):
        return json.loads(self.out)

    def said(self):
        return self.out + self.err

    def __str__(self):
        return (f"isobit {' '.join(self.arguments)}\n  exit code {self.code}, {self.seconds:.2f} s ({self.processor:.2f} s of processor time), "
                f"{self.peak >> 20} MiB\n  stdout: {self.out[:2000]}\n  stderr: {self.err[:2000]}")


class Arena:
    def __init__(self):
        self.watch = Watch()
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK | os.X_OK) else None
        self.dir = tempfile.mkdtemp(prefix="isobit_attacks_", dir=memory)
        self.client, self.trainer = Key(b"client of the attacks".ljust(32)), Key(b"trainer of the attacks".ljust(32))
        self.stranger = Key(b"somebody else".ljust(32))
        self.home = self.make_home("home", self.client, self.trainer)
        self.processor = 0  # seconds of all commands
        self._runs = {}

    def close(self):
        self.watch.close()
        shutil.rmtree(self.dir, ignore_errors=True)

    def path(self, *names):
        return os.path.join(self.dir, *names)

    def make_home(self, name, client, trainer):
        """With both parties' keys: those of the local flow."""
        os.makedirs(self.path(name))
        for party, key in (("client", client), ("trainer", trainer)):
            for ending, data in ((".key", key.secret_file()), (".pub", key.public_file())):
                path = self.path(name, party + ending)
                with open(path, "wb") as f:
                    f.write(data)
                os.chmod(path, 0o600)
        return self.path(name)

    def judge_home(self):
        """Fresh, with the client's public key alone."""
        home = self.path("judge")
        shutil.rmtree(home, ignore_errors=True)
        os.makedirs(home)
        with open(os.path.join(home, "client.pub"), "wb") as f:
            f.write(self.client.public_file())
        return home

    def isobit(self, *arguments, home=None, limit=HANGS_AFTER):
        """Runs to the end, or until it is taken to hang (code -SIGKILL)."""
        home = home or self.judge_home()
        env = {"PATH": os.environ.get("PATH", ""), "HOME": home, "ISOBIT_HOME": home, "LC_ALL": "C"}
        env.update({k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")})
        out, err = self.path("stdout"), self.path("stderr")
        done = self.watch.run([PROGRAM, *arguments], self.dir, env, out, err, limit)
        said = []
        for name in (out, err):
            with open(name, "rb") as f:
                said.append(f.read(1 << 20).decode("utf-8", "replace"))
        self.processor += done["processor"]
        return Outcome(arguments, *said, done)

    # Runs to start from.

    def train(self, name, toml, *arguments, home=None, command=("train",)):
        """An honest run (or isobit's own cheat) in self.dir/name: the folder."""
        job = self.path(name + ".toml")
        with open(job, "w", encoding="utf-8") as f:
            f.write(toml)
        done = self.isobit("-q", *command, job, "--out", self.path(name), *arguments, home=home or self.home,
                           limit=300)
        if done.code != 0:
            raise RuntimeError(f"an honest run could not be made: {done}")
        return self.path(name)

    def run(self, arithmetic, *settings, command=("train",)):
        """A copy of an honest run of the job with these settings (TABLE.KEY=VALUE), trained once."""
        key = (arithmetic, settings, command)
        if key not in self._runs:
            name = f"honest-{len(self._runs)}"
            overrides = [word for s in settings for word in ("--set", s)]
            # A table of roundings is an error where the arithmetic has none.
            of = "ordered-1" if any(s.startswith("job.arithmetic=") for s in settings) else arithmetic
            folder = self.train(name, job_text(of), *overrides, command=command)
            self._runs[key] = read_run(folder, self.client, self.trainer)[0]
            self._runs[key].folder = folder
        return self._runs[key].copy()


def limit_this_process():
    """Called first. What the children inherit: no core files, no more memory than a laptop has."""
    if not os.access(PROGRAM, os.X_OK):
        sys.exit("name the program isobit in the environment variable ISOBIT")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if not UNDER_SANITIZERS:  # these reserve terabytes
        resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))
