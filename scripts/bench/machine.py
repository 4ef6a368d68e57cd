"""The machine that is measured on, and what else runs on it."""
import datetime
import os
import pathlib
import re
import time

FLAGS = ["avx2", "fma", "avx512f", "avx512vl", "avx512bw", "avx512dq", "avx512_bf16", "amx_tile", "asimd", "sve"]
MOST = 0.05  # of the processors' time, that others may take on a quiet machine
DISTURBED = 0.10  # ... and while something is measured
TICK = os.sysconf("SC_CLK_TCK")


def processor():
    text = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    model = re.search(r"^model name\s*:\s*(.*)$", text, re.M)
    flags = re.search(r"^(?:flags|Features)\s*:\s*(.*)$", text, re.M)
    have = set(flags.group(1).split()) if flags else set()
    return (model.group(1) if model else "unknown"), [f for f in FLAGS if f in have]


def described():
    model, flags = processor()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {"model": model, "flags": flags, "processors": len(os.sched_getaffinity(0)), "memory_gib": round(memory),
            "kernel": os.uname().release, "load": [round(x, 2) for x in os.getloadavg()],
            "date": datetime.date.today().isoformat()}


def busy_seconds():
    """Of all processors since the machine started, idleness and waiting for disks left out; what a hypervisor took counts."""
    words = pathlib.Path("/proc/stat").read_text(encoding="utf-8").split("\n", 1)[0].split()[1:9]
    user, nice, system, _, _, irq, softirq, steal = (int(w) for w in words)
    return (user + nice + system + irq + softirq + steal) / TICK


def own_seconds():
    """Of this process and its descendants, those that have ended among them."""
    seconds, parents = {}, {}
    for folder in pathlib.Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            fields = (folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            continue
        pid = int(folder.name)
        parents[pid] = int(fields[1])
        seconds[pid] = sum(int(f) for f in fields[11:15]) / TICK

    def is_own(pid):
        while pid in parents:
            if pid == os.getpid():
                return True
            pid = parents[pid]
        return False
    return sum(s for pid, s in seconds.items() if is_own(pid))


class Others:
    """How much of the processors' time other processes take, from one look to the next."""

    def __init__(self):
        self.count = os.cpu_count()
        self.share()

    def share(self):
        now = time.monotonic(), busy_seconds(), own_seconds()
        wall, busy, own = (b - a for a, b in zip(getattr(self, "before", now), now))
        self.before = now
        return max(0.0, busy - own) / (wall * self.count) if wall > 0 else 0.0


def share_of_others(seconds):
    others = Others()
    time.sleep(seconds)
    return others.share()


def wait_until_quiet(minutes, say):
    """The share of others; waits for as long as that is too much, and then gives up."""
    end = time.monotonic() + 60 * minutes
    while True:
        share = share_of_others(5)
        if share <= MOST or time.monotonic() >= end:
            return share
        say(f"others take {100 * share:.0f} % of the processors; waiting")
        time.sleep(15)
