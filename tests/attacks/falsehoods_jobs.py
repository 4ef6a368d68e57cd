"""job.toml: another job than the engaged one, or no job at all. The manifest is signed over it."""
from falsehood import HARMLESS, REFUSED, falsehood, family
from falsehoods_training import JOBS, NUMBERS


def put(text, setting):
    """A job's text with one key set: TABLE.KEY=VALUE."""
    name, value = setting.split("=", 1)
    table, key = name.split(".")
    if not value[0].isdigit() and value[0] not in "[\"'{-" and value not in ("true", "false", "inf", "nan"):
        value = f'"{value}"'
    out, here, done = [], None, False
    for line in text.splitlines():
        here = line[1:-1] if line.startswith("[") else here
        if here == table and line.split(" =")[0] == key:
            continue
        out.append(line)
        if line == f"[{table}]":
            out.append(f"{key} = {value}")
            done = True
    if not done:
        out += [f"[{table}]", f"{key} = {value}"]
    return "\n".join(out) + "\n"


OTHER = {**JOBS, **NUMBERS, "a smaller network": "model.builder=logistic", "more steps": "job.steps=6", "fewer steps": "job.steps=4", "another name": "job.name=other",
         "states after every step": "commit.every=1", "all test samples": "evaluate.samples=0",
         "an engineer's arithmetic": "job.arithmetic=my-arithmetic", "another data set": "data.dataset=mnist",
         "a data set nobody has": "data.dataset=faces", "a network nobody has": "model.builder=transformer",
         "2^62 steps": "job.steps=4611686018427387904", "4 million steps": "job.steps=4194304",
         "batches of 2^40": "data.batch=1099511627776", "a rate of infinity": "optimizer.lr=inf",
         "a rate of NaN": "optimizer.lr=nan", "a rate of minus zero": "optimizer.lr=-0.0",
         "a seed of -1": "job.seed=-1"}


@family([(f"job: {name}", setting) for name, setting in OTHER.items()], REFUSED, "job")
def _(run, settings):
    for setting in [settings] if isinstance(settings, str) else settings:
        run.job = put(run.job.decode(), setting).encode()


# Layers, widths and depths that nobody's memory holds.
SIZES = {
    "16,384 channels": ("gpt", "channels = 16384"),
    "2^40 channels": ("gpt", "channels = 1099511627776"),
    "a million layers": ("gpt", "layers = 1000000"),
    "a residual network of width 2^31": ("resnet", "width = 2147483648"),
    "10^9 blocks": ("resnet", "blocks = 1000000000"),
}


@family([(f"job: {name}", row) for name, row in SIZES.items()], REFUSED, "job")
def _(run, row):
    builder, line = row
    text = put(run.job.decode(), f"model.builder={builder}")
    run.job = text.replace("[model]", "[model]\n" + line).encode()


@family([("job: a bound of 1e9", "rounding.divergence=1e9"), ("job: a bound of 1e308", "rounding.divergence=1e308"),
         ("job: a negative bound", "rounding.divergence=-1.0"), ("job: no bits", "rounding.bits=0"),
         ("job: a sound bound", "rounding.bound=sound"), ("job: a bound for one operator", "rounding.divergences={ Conv = 8 }")],
        REFUSED, "job", only=("sparse",))
def _(run, setting):
    run.job = put(run.job.decode(), setting).encode()


@family([("job: another threshold", "rounding.threshold=0.5"), ("job: a negative threshold", "rounding.threshold=-1.0")],
        REFUSED, "job", only=("ovt",))
def _(run, setting):
    run.job = put(run.job.decode(), setting).encode()


DEEP = 150000


def comments(text, kib):
    return text + (b"#" * 63 + b"\n") * (16 * kib)


# Whole texts, hostile or none.
TEXTS = {
    "empty": lambda t: b"",
    "zeros": lambda t: bytes(500),
    "no UTF-8": lambda t: t + b"# \xff\xfe\n",
    "a mark of the byte order in the middle": lambda t: t + b"\xef\xbb\xbf\n",
    "a zero in it": lambda t: t + b"# \0\n",
    "a key twice": lambda t: t.replace(b"seed = 7", b"seed = 7\nseed = 7"),
    "a table twice": lambda t: t + b"[job]\n",
    "a key nobody knows": lambda t: t + b"colour = 3\n",
    "a table nobody knows": lambda t: t + b"[network]\n",
    "cut in the middle of a word": lambda t: t[:len(t) // 2],
    "a key 150,000 dots deep": lambda t: b"a" + b".a" * DEEP + b" = 1\n" + t,
    "a table 150,000 dots deep": lambda t: t + b"[a" + b".a" * DEEP + b"]\n",
    "an array 150,000 deep": lambda t: t + b"a = " + b"[" * DEEP + b"]" * DEEP + b"\n",
    "inline tables 50,000 deep": lambda t: t + b"a = " + b"{a=" * 50000 + b"1" + b"}" * 50000 + b"\n",
    "arrays and tables in turn, 30,000 deep": lambda t: t + b"a = " + b"[{a=" * 30000 + b"1" + b"}]" * 30000 + b"\n",
    "an array begun 150,000 times": lambda t: t + b"a = " + b"[" * DEEP,
    "a key 9,000 dots deep in 64 KiB": lambda t: b"a" + b".a" * 9000 + b" = 1\n" + t,
    "an array 9,000 deep in 64 KiB": lambda t: t + b"a = " + b"[" * 9000 + b"]" * 9000 + b"\n",
    "65 KiB of comments": lambda t: comments(t, 65),
    "16 MiB of comments": lambda t: comments(t, 16 << 10),
    "a name of 60,000 letters": lambda t: t.replace(b"attacked", b"a" * 60000),
    "a name with control characters": lambda t: t.replace(b"'attacked'", rb'"\u001b[2J\u202e"'),
}


@family([(f"job: {name}", edit) for name, edit in TEXTS.items()], REFUSED, "job")
def _(run, edit):
    run.job = edit(run.job)


# Paths that a stranger chose. The digits need none: the job is the same job, and nothing may be opened.
PATHS = ("/etc/passwd", "/dev/zero", "/dev/tty", "pipe", "../../../../etc/shadow", "/proc/self/mem", "\x1b[2J")


@family([(f"job: data.path {ascii(path)}", path) for path in PATHS], dict.fromkeys(HARMLESS, (0, 1, 3)))
def _(run, path):
    run.job = put(run.job.decode(), "data.path=" + ascii(path)[1:-1].replace("\\x", "\\u00")).encode()


@family([(f"job: data.salt {path}", path) for path in ("/etc/passwd", "/dev/zero", "pipe")], dict.fromkeys(HARMLESS, (0, 1, 3)))
def _(run, path):
    run.job = put(run.job.decode(), "data.salt=" + path).encode()


@family([("job: a comment more", lambda t: t + b"# the same job\n"),
         ("job: tables in another order", lambda t: t[t.index(b"[model]"):] + t[:t.index(b"[model]")]),
         ("job: other checkpoints", lambda t: t.replace(b"keep = 3", b"keep = 2"))], HARMLESS)
def _(run, edit):
    run.job = edit(run.job)


__all__ = ["falsehood"]
