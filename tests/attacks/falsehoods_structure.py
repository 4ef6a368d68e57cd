"""Files that are missing, that nobody asked for, or that are no files."""
import os
import random
import socket
import stat

from bundle import HEADS, JOB, LOG, MANIFEST, SIGNATURE, TRANSCRIPT, Special, checkpoint, fifo, folder, link_to, sparse
from falsehood import REFUSED, UNREADABLE, WEIGHTS, falsehood, family, with_codes

FILES = (JOB, "engagement", TRANSCRIPT, HEADS)


@family([(f"without {name}", name) for name in FILES], REFUSED, "")
def _(run, name):
    run.absent.add(name)


@family([(f"without {name}, which is listed", name) for name in (*FILES, checkpoint(5), checkpoint(2))], REFUSED, "missing")
def _(run, name):
    run.lost.add(name)


@falsehood("without manifest.sig", REFUSED, "manifest.sig")
def _(run, arena, arithmetic):
    run.lost.add(SIGNATURE)


@falsehood("without manifest.json", with_codes(UNREADABLE, info=0, eval=2, export=2), "unfinished")
def _(run, arena, arithmetic):
    run.lost.update({MANIFEST, SIGNATURE})


@falsehood("without the log", REFUSED, "log", only=("sparse", "ovt"))
def _(run, arena, arithmetic):
    run.segments = None


@falsehood("a log of a job without one", REFUSED, "log", only=("ordered-1", "correct-1"))
def _(run, arena, arithmetic):
    run.segments = [b"segment"] * 5


@falsehood("an empty folder log of a job without one", REFUSED, "log", only=("ordered-1", "correct-1"))
def _(run, arena, arithmetic):
    run.unlisted["log"] = folder()


# What is delivered.
@falsehood("without the final checkpoint", REFUSED, "final")
def _(run, arena, arithmetic):
    del run.checkpoints[5]


@falsehood("without any checkpoint", REFUSED, "final")
def _(run, arena, arithmetic):
    run.checkpoints.clear()


def random_weights(run):
    """Something that decodes, of the same form as the final state."""
    state, generator = run.checkpoints[5].copy(), random.Random(3)
    for t in state.tensors.values():
        t[2] = bytes(generator.randbytes(len(t[2])))
    return state


EXTRA = {
    "of step 6 of 5": 6,
    "of step 7 of 5": 7,
    "of step 61 of 5": 61,
    "of step 3, which no leaf commits to": 3,
    "of step 1, which no leaf commits to": 1,
    "of step 2^32": 2**32,
    "of step 2^63": 2**63,
    "of step 2^64 - 1": 2**64 - 1,
    "of step 2^64": 2**64,
    "of step 10^40": 10**40,
}


@family([(f"an extra checkpoint {name}", step) for name, step in EXTRA.items()], REFUSED, "checkpoint")
def _(run, step):
    run.checkpoints[step] = random_weights(run)


# The transcript commits to the initial state. Who gives out the final one does not read this.
@falsehood("an extra checkpoint of step 0", with_codes(WEIGHTS, eval=0, export=0), "checkpoint of step 0")
def _(run, arena, arithmetic):
    run.checkpoints[0] = random_weights(run)


@falsehood("an extra checkpoint of step 6, the final one missing", REFUSED, "checkpoints")
def _(run, arena, arithmetic):
    run.checkpoints[6] = run.checkpoints.pop(5)


NAMES = ("checkpoints/step-05.safetensors", "checkpoints/step-+5.safetensors", "checkpoints/step--5.safetensors",
         "checkpoints/step-.safetensors", "checkpoints/step-5", "checkpoints/step-5.SAFETENSORS",
         "checkpoints/step-5.safetensors.tmp", "checkpoints/step-5 .safetensors", "checkpoints/step-5e0.safetensors",
         "checkpoints/step-0x5.safetensors", "checkpoints/.hidden", "checkpoints/index", "checkpoint/step-5.safetensors",
         "extra", ".hidden", "job.toml~", "job.toml.tmp", "transcript.tmp", "Manifest.json", "manifest.json.sig",
         "log/other", "log/segments.tmp", "engagement\n", "a\x1b[2Jb", "\u202efdp", "x" * 255)


@family([(f"a file more: {ascii(name)[:50]}", name) for name in NAMES], REFUSED, "")
def _(run, name):
    run.more[name] = b"x"


@family([(f"a file more, unlisted: {ascii(name)[:50]}", name) for name in NAMES], REFUSED, "")
def _(run, name):
    run.unlisted[name] = b"x"


@falsehood("a name that is not UTF-8", REFUSED, "")
def _(run, arena, arithmetic):
    run.unlisted[os.fsdecode(b"\xff\xfe")] = b"x"


@falsehood("a folder more", REFUSED, "folder")
def _(run, arena, arithmetic):
    run.unlisted["folder"] = folder()


@falsehood("a folder among the checkpoints", REFUSED, "step-3")
def _(run, arena, arithmetic):
    run.unlisted["checkpoints/step-3.safetensors"] = folder()


@falsehood("folders 200 deep", REFUSED, "a")
def _(run, arena, arithmetic):
    run.unlisted["/".join("a" * 200)] = b"x"


@falsehood("a lock that is not empty", REFUSED, "lock")
def _(run, arena, arithmetic):
    run.unlisted["lock"] = b"x"


@falsehood("70,000 files", REFUSED, "", heavy=True, only=("ordered-1",))
def _(run, arena, arithmetic):
    for i in range(70000):
        run.unlisted[f"checkpoints/step-{i + 100}.safetensors"] = b""


# What is no plain file, in place of every one.
def _socket(path):
    # A path of a socket is short; a listening one is made beside it and moved.
    here = os.getcwd()
    os.chdir(os.path.dirname(path))
    try:
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(os.path.basename(path))
    finally:
        os.chdir(here)


def _device(path):
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))  # endless zeros
    except PermissionError:
        os.mkfifo(path)


KINDS = {
    "a pipe": fifo,
    "a device": lambda: Special(_device),
    "a socket": lambda: Special(_socket),
    "a link to itself": lambda: Special(lambda path: os.symlink(os.path.basename(path), path)),
    "a link to /dev/zero": lambda: link_to("/dev/zero"),
    "a link out of the run": lambda: link_to("/etc/passwd"),
    "a folder": folder,
}
PLACES = (*FILES, MANIFEST, SIGNATURE, checkpoint(5))


@family([(f"{kind} in place of {name}", (name, kind)) for name in PLACES for kind in KINDS], REFUSED, "")
def _(run, row):
    name, kind = row
    run.late[name] = lambda data: KINDS[kind]()


@falsehood("a pipe in place of the log", REFUSED, "", only=("sparse", "ovt"))
def _(run, arena, arithmetic):
    run.late[LOG] = lambda data: fifo()


@falsehood("links to honest files elsewhere", REFUSED, "")
def _(run, arena, arithmetic):
    honest = arena.run(arithmetic).folder
    for name in (*FILES, checkpoint(5)):
        run.late[name] = lambda data, name=name: link_to(os.path.join(honest, name))


@falsehood("a link in place of the folder of checkpoints", REFUSED, "checkpoints")
def _(run, arena, arithmetic):
    target = os.path.join(arena.run(arithmetic).folder, "checkpoints")
    for step in list(run.checkpoints):
        run.lost.add(checkpoint(step))
    run.unlisted["checkpoints"] = link_to(target)


# Sizes. What is sparse takes no room here and would take an hour to read.
SIZES = {"1 TiB": 1 << 40, "64 GiB": 1 << 36}


@family([(f"{name} of {size}", (name, SIZES[size])) for name in (*PLACES, "checkpoints/step-3.safetensors")
         for size in SIZES], REFUSED, "")
def _(run, row):
    name, size = row
    if name in (MANIFEST, SIGNATURE):
        run.late[name] = lambda data: sparse(size)
    else:
        run.more[name] = sparse(size)
        run.checkpoints.pop(5, None) if name == checkpoint(5) else None


@falsehood("a log of 1 TiB", REFUSED, "log", only=("sparse", "ovt"))
def _(run, arena, arithmetic):
    run.more[LOG] = sparse(1 << 40)


__all__ = ["WEIGHTS"]
