"""What a falsehood is, and what each command must say to it. README.md says how to add one."""
from canon import tagged, u64

COMMANDS = ("verify", "audit", "sample", "info", "eval", "export")
SEED = bytes(range(16))

# Exit codes of the six commands.
REFUSED = dict.fromkeys(COMMANDS, 1)  # whoever opens the run sees it
UNREADABLE = dict.fromkeys(COMMANDS, 3)  # no run, or one of a later version
# Every signature, digest and root fits; only who computes the steps again sees it.
LIE = {"verify": 0, "audit": 1, "sample": 1, "info": 0, "eval": 0, "export": 0}
# Without the job's own checks: seen by whoever compares the state with its root.
WEIGHTS = {"verify": 1, "audit": 1, "sample": 1, "info": 0, "eval": 1, "export": 1}
# Nothing that is claimed has changed.
HARMLESS = dict.fromkeys(COMMANDS, 0)

ALL = ("ordered-1", "correct-1", "sparse", "ovt")
LOGGED = ("sparse", "ovt")


class Falsehood:
    """act(run, arena, arithmetic) changes an honest Run, or returns another one.

    verdict     command -> exit code, or the codes that are allowed
    says        words of the reason that verify (or, where it finds nothing, audit) gives
    intervals   where only some intervals are wrong: their numbers. A sample that draws none may accept.
    settings    of the job of the honest run
    heavy       writes much or takes long: in the whole suite only
    """

    def __init__(self, name, act, verdict, says="", only=ALL, intervals=None, settings=(), heavy=False):
        self.name, self.act, self.verdict, self.says, self.only = name, act, verdict, says, only
        self.intervals, self.settings, self.heavy = intervals, settings, heavy

    def allowed(self, command, run):
        codes = self.verdict[command]
        codes = {codes} if isinstance(codes, int) else set(codes)
        if command == "sample" and self.intervals is not None and not hit(run, self.intervals):
            codes.add(0)
        return codes


TABLE = []


def falsehood(name, verdict, says="", **more):
    """Decorates act."""
    def add(act):
        assert all(f.name != name for f in TABLE), f"two falsehoods are named '{name}'"
        TABLE.append(Falsehood(name, act, verdict, says, **more))
        return act
    return add


def family(rows, verdict, says="", **more):
    """rows: (name, value). Decorates act(run, value): one falsehood a row."""
    def add(act):
        for name, value in rows:
            falsehood(name, verdict, says, **more)(lambda run, arena, arithmetic, value=value: act(run, value))
        return act
    return add


def with_codes(verdict, **codes):
    """A verdict that differs for some commands."""
    return {**verdict, **codes}


def intervals_of(steps, every):
    """(first step, last step) of each, docs/formats/transcript.md."""
    return [(first, min(first + every - 1, steps)) for first in range(1, steps + 1, every)]


def drawn(root, intervals, count, seed=SEED):
    """Numbers of the intervals that a sample of `count` replays: the last one, and these of the others."""
    counter = 0

    def below(n):
        nonlocal counter
        while True:
            payload = u64(len(seed)) + seed + root + u64(counter)
            value = int.from_bytes(tagged("isobit.audit.sample", 1, payload)[:8], "little")
            counter += 1
            if value >= (1 << 64) % n:
                return value % n

    numbers = list(range(intervals - 1))
    count = min(count, len(numbers))
    for i in range(count):
        j = i + below(len(numbers) - i)
        numbers[i], numbers[j] = numbers[j], numbers[i]
    return sorted(numbers[:count]) + [intervals - 1]


def hit(run, wrong):
    """Whether a sample of one interval, which always has the last one too, sees one of these."""
    from objects import transcript_root
    intervals = len(intervals_of(run.header.steps, run.header.commit_every))
    return bool(set(drawn(transcript_root(run.encoded_leaves()), intervals, 1)) & set(wrong))
