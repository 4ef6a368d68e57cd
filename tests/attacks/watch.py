"""Runs programs from a small process of its own and says what each has taken.

The peak of a process's memory, as the system counts it, includes that of the process it was forked from: a test that holds
a gigabyte would find one in everything it starts.
"""
import json
import os
import signal
import socket
import subprocess
import time


def _queued(pid):
    """Seconds that the first thread was ready and had no processor: what a busy machine adds to anybody's time."""
    try:
        with open(f"/proc/{pid}/schedstat", encoding="ascii") as f:
            return int(f.read().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):  # a kernel that does not count it
        return 0.0


def _wait(process, limit):
    """(wait status, usage, seconds less those in the queue). Killed when these reach `limit`."""
    begin, pause = time.monotonic(), 0.002
    while True:
        # Left a zombie until its numbers have been read.
        ended = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        seconds = time.monotonic() - begin
        if ended or seconds > limit:
            seconds -= _queued(process.pid)
        if not ended and seconds > limit:
            os.kill(process.pid, signal.SIGKILL)
            ended = True
        if ended:
            _, status, usage = os.wait4(process.pid, 0)
            return status, usage, max(seconds, 0.0)
        time.sleep(pause)
        pause = min(pause * 1.2, 0.02)


def _run(order):
    with open(order["out"], "wb") as out, open(order["err"], "wb") as err:
        process = subprocess.Popen(order["command"], stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=order["folder"],
                                   env=order["environment"], start_new_session=True)
        status, usage, seconds = _wait(process, order["limit"])
        process.returncode = os.waitstatus_to_exitcode(status)
        return {"code": process.returncode, "seconds": seconds, "peak": usage.ru_maxrss << 10,
                "processor": usage.ru_utime + usage.ru_stime}


class Watch:
    """Made early, while this process is small."""

    def __init__(self):
        mine, theirs = socket.socketpair()
        self.pid = os.fork()
        if self.pid == 0:
            mine.close()
            try:
                with theirs.makefile("rw") as orders:
                    for line in orders:
                        orders.write(json.dumps(_run(json.loads(line))) + "\n")
                        orders.flush()
            finally:
                os._exit(0)
        theirs.close()
        self.orders = mine.makefile("rw")
        mine.close()

    def run(self, command, folder, environment, out, err, limit):
        """Ended with SIGKILL after `limit` seconds. A dictionary of code (negative: the signal), seconds, peak (bytes) and
        processor (seconds). Time in which no processor was to be had does not count."""
        order = {"command": command, "folder": folder, "environment": environment, "out": out, "err": err, "limit": limit}
        self.orders.write(json.dumps(order) + "\n")
        self.orders.flush()
        return json.loads(self.orders.readline())

    def close(self):
        self.orders.close()
        os.waitpid(self.pid, 0)
