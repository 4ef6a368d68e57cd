#!/usr/bin/env python3
"""Exchanges files between isobit's readers and writers and the packages everybody else uses.

usage: formats_oracle.py TOOL WORK safetensors    in a venv of its own under WORK, with packages from the Python registry
       formats_oracle.py TOOL WORK npy            with the numpy of this interpreter

TOOL copies a file: `TOOL IN OUT` decodes IN and writes OUT, both named *.npy or *.safetensors.
Exit status 77: the packages are not to be had here; the test is skipped.
"""
import os
import pathlib
import subprocess
import sys


def skip(reason):
    print("skipped:", reason)
    sys.exit(77)


def in_venv(work):
    """Runs this script again in a venv that has numpy and safetensors."""
    venv = work / "venv"
    python = venv / "bin" / "python3"
    ready = venv / "ready"
    if not ready.exists():
        if subprocess.run([sys.executable, "-m", "venv", "--clear", str(venv)]).returncode != 0:
            skip("python3 cannot make a virtual environment")
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "numpy", "safetensors"]
        if subprocess.run(pip).returncode != 0:
            skip("pip cannot install numpy and safetensors")
        ready.touch()
    sys.exit(subprocess.run([str(python)] + sys.argv + ["inside"], env=dict(os.environ)).returncode)


def arrays(np):
    rng = np.random.default_rng(7)
    out = {}
    for i, dtype in enumerate(["<f4", "<f8", "<i8", "<i4", "|u1", "|b1"]):
        for shape in [(), (1,), (5,), (0, 3), (3, 4), (2, 3, 5)]:
            raw = rng.integers(0, 2 if dtype == "|b1" else 256, size=shape + (np.dtype(dtype).itemsize,), dtype=np.uint8)
            name = "t{}é\"{}".format(i, "x".join(map(str, shape)))
            out[name] = np.frombuffer(raw.tobytes(), dtype=dtype).reshape(shape)
    return out


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def check(condition, what):
    if not condition:
        sys.exit("differs: " + what)


def copy(tool, source, target):
    subprocess.run([tool, str(source), str(target)], check=True)


def check_npy(tool, work):
    try:
        import numpy as np
        from numpy.lib import format as npy
    except ImportError:
        skip("no numpy for this python3")
    count = 0
    for name, array in arrays(np).items():
        for version in [(1, 0), (2, 0), (3, 0)]:
            for ordered in [array, np.array(array, order="F")]:
                with open(work / "in.npy", "wb") as file:
                    npy.write_array(file, ordered, version=version)
                copy(tool, work / "in.npy", work / "out.npy")
                check(same(np.load(work / "out.npy"), array), f"{name} {version}")
                count += 1
        np.save(work / "in.npy", array)
        check((work / "in.npy").read_bytes() == (work / "out.npy").read_bytes(), name + ": not numpy's own bytes")
    print(count, "arrays")


def check_safetensors(tool, work):
    import numpy as np
    from safetensors import safe_open
    from safetensors.numpy import load_file, save_file
    expected = arrays(np)
    metadata = {"format": "pt", "note": "a \"quoted\"\nline"}
    save_file(expected, str(work / "in.safetensors"), metadata=metadata)
    copy(tool, work / "in.safetensors", work / "out.safetensors")
    found = load_file(str(work / "out.safetensors"))
    check(sorted(found) == sorted(expected), "names")
    for name, array in expected.items():
        check(same(found[name], array), name)
    with safe_open(str(work / "out.safetensors"), "np") as file:
        check(file.metadata() == metadata, "metadata")
    print(len(expected), "tensors")


def main():
    tool, work, kind = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
    work.mkdir(parents=True, exist_ok=True)
    if kind == "npy":
        check_npy(tool, work)
    elif sys.argv[4:] == ["inside"]:
        check_safetensors(tool, work)
    else:
        in_venv(work)


main()
