"""A program run with limits on its time and memory."""
import os
import resource
import signal
import subprocess
import tempfile
import threading
import time


class Ended:
    """How a program ended: `code` (negative: by that signal), `out` and `err` as text, `seconds` of wall time, and
    whether it was ended because it was `late`."""

    def __init__(self, code, out, err, seconds, late):
        self.code, self.out, self.err, self.seconds, self.late = code, out, err, seconds, late

    @property
    def ended_well(self):
        return self.code == 0 and not self.late

    def last_line(self):
        """The reason of a failure in one line."""
        if self.late:
            return f"not done after {self.seconds:.0f} s"
        lines = [line.strip() for line in self.err.splitlines() if line.strip()]
        if self.code < 0:
            return f"ended by {signal.Signals(-self.code).name}" + (f": {lines[-1]}" if lines else "")
        return lines[-1] if lines else f"exit code {self.code}"


def run(command, seconds, gigabytes, **more):
    """Runs to the end, or to the limit. Address space is what is limited: somewhat more than what is used."""
    def limit():
        most = int(gigabytes * 2**30)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))

    late = threading.Event()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        begin = time.monotonic()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, preexec_fn=limit,
                                   start_new_session=True, **more)

        def end():
            late.set()
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

        watch = threading.Timer(seconds, end)
        watch.start()
        process.wait()
        watch.cancel()
        took = time.monotonic() - begin
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    return Ended(process.returncode, *texts, took, late.is_set())
