"""What the tests of the command line share: the program run as a person or a script would run it.

ISOBIT names the program, ISOBIT_SOURCE_DIR the tree (for examples/jobs), ISOBIT_SHARED_DATA a folder of optional data.
Every test has a folder of its own for its runs and its keys; nobody's real keys are touched.
"""
import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

# With --slow a test tries everything; else a part, the same each time.
SLOW = "--slow" in sys.argv
if SLOW:
    sys.argv.remove("--slow")


def slow(test):
    """A test of --slow alone. Without it there is no such test, rather than one that is skipped: it could run here."""
    return test if SLOW else None


HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.environ.get("ISOBIT_SOURCE_DIR", os.path.dirname(os.path.dirname(HERE)))
PROGRAM = os.environ.get("ISOBIT", "isobit")
JOBS = os.path.join(SOURCE, "examples", "jobs")
DIGITS = os.path.join(JOBS, "digits.toml")

# The digits job, short enough to be trained many times over.
STEPS = 12


def overrides(*settings):
    return [word for setting in settings for word in ("--set", setting)]


SHORT = overrides(f"job.steps={STEPS}", "schedule.warmup=2", "commit.every=1", "checkpoint.every=4")


def heeds_signals():
    """For a child: whoever runs the tests in the background may have them ignore what the child is to be stopped with."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


class Result:
    def __init__(self, arguments, code, out, err):
        self.arguments, self.code, self.out, self.err = arguments, code, out, err

    def json(self):
        return json.loads(self.out)  # of all of stdout: nothing else may be there

    def __str__(self):
        return f"isobit {' '.join(self.arguments)}\nexit code {self.code}\nstdout: {self.out}\nstderr: {self.err}"


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="isobit_cli_")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)

    def path(self, *names):
        return os.path.join(self.dir, *names)

    def write(self, name, content):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb" if isinstance(content, bytes) else "w") as f:
            f.write(content)
        return path

    def environment(self, **more):
        env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "XDG_CONFIG_HOME")}
        env.update(ISOBIT_HOME=self.path("keys"), HOME=self.path("home"), TERM="xterm")
        env.update(more)
        return {k: v for k, v in env.items() if v is not None}

    def start(self, *arguments, env=None, **more):
        return subprocess.Popen([PROGRAM, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, cwd=self.dir, env=self.environment(**(env or {})), text=True,
                                preexec_fn=heeds_signals, **more)

    def start_until(self, file, writes, *arguments):
        """Starts the program, which stops itself after that many writes to a file of that name. Returns once it has
        stopped or ended; a stopped one goes on with SIGCONT, before which it has seen no other signal."""
        process = self.start(*arguments, env={"LD_PRELOAD": os.environ["ISOBIT_STOP_AT_WRITE"],
                                              "ISOBIT_TEST_STOP_AT": f"{file}:{writes}"})
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        return process

    def isobit(self, *arguments, code=0, env=None, inside="", **more):
        """Runs to the end, in self.dir or a folder inside it. `code`: the exit code, or those allowed; a signal is
        never allowed."""
        done = subprocess.run([PROGRAM, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                              cwd=os.path.join(self.dir, inside),
                              env=self.environment(**(env or {})), **more)
        result = Result(arguments, done.returncode, done.stdout.decode(), done.stderr.decode())
        self.assertIn(result.code, (code,) if isinstance(code, int) else code, str(result))
        return result

    def isobit_json(self, *arguments, **more):
        return self.isobit("--json", *arguments, **more).json()

    def vendors(self):
        """What `platforms --vendors` says. Every setting of every library is tried for it, which takes seconds: CTest has
        it asked once for all tests (vendors_test.py)."""
        asked = os.environ.get("ISOBIT_VENDORS_LISTED")
        if not asked:
            return self.isobit_json("platforms", "--vendors")
        with open(asked, encoding="utf-8") as f:
            return json.load(f)

    def train(self, name, *arguments, job=DIGITS, **more):
        """The short job into self.dir/name; the JSON that train prints."""
        return self.isobit_json("train", job, *SHORT, "--out", self.path(name), *arguments, **more)

    def fails(self, *arguments, code, says=(), **more):
        """One line on stderr that says all of `says`, nothing on stdout."""
        result = self.isobit(*arguments, code=code, **more)
        self.assertEqual(result.out, "", str(result))
        self.assertTrue(result.err.startswith("isobit: "), str(result))
        self.assertEqual(result.err.count("\n"), 1, str(result))
        self.assertTrue(result.err.endswith("\n"), str(result))
        for words in says:
            self.assertIn(words, result.err, str(result))
        return result

    def on_terminal(self, *arguments, env=None):
        """(exit code, what a terminal shows) with stdout and stderr on it."""
        master, slave = pty.openpty()
        process = subprocess.Popen([PROGRAM, *arguments], stdin=subprocess.DEVNULL, stdout=slave, stderr=slave,
                                   cwd=self.dir, env=self.environment(**(env or {})))
        os.close(slave)
        shown = b""
        while True:
            if not select.select([master], [], [], 300)[0]:
                process.kill()
                self.fail(f"isobit {arguments} hangs on a terminal")
            try:
                data = os.read(master, 65536)
            except OSError:  # how Linux says that the other end is closed
                break
            if not data:
                break
            shown += data
        os.close(master)
        return process.wait(), shown.decode()


TRANSCRIPT_HEADER = 60  # docs/formats/bundle.md, record files


def leaves_of(run):
    """Whole records in the transcript of a run: leaf 0, then one a step. 0 where there is none yet."""
    try:
        with open(os.path.join(run, "transcript"), "rb") as f:
            data = f.read()
    except FileNotFoundError:
        return 0
    at, count = TRANSCRIPT_HEADER, 0
    while at + 12 <= len(data):
        at += 12 + int.from_bytes(data[at:at + 4], "little")
        count += at <= len(data)
    return count


def files_of(folder):
    """Paths of all files in a folder, relative, sorted."""
    return sorted(os.path.relpath(os.path.join(where, name), folder)
                  for where, _, names in os.walk(folder) for name in names)


def contents(folder):
    out = {}
    for name in files_of(folder):
        with open(os.path.join(folder, name), "rb") as f:
            out[name] = f.read()
    return out


def shared_data(name):
    """A folder of the optional data, or the test is skipped."""
    path = os.path.join(os.environ.get("ISOBIT_SHARED_DATA", ""), name)
    if not os.environ.get("ISOBIT_SHARED_DATA") or not os.path.isdir(path):
        raise unittest.SkipTest("skipped: no data")
    return path


def main():
    if not (os.path.isfile(PROGRAM) or shutil.which(PROGRAM)):
        sys.exit(f"{PROGRAM}: no such program; name it in the environment variable ISOBIT")
    unittest.main(verbosity=2)
