"""isobit as the experiments call it: one process for each command, its answer as JSON."""
import json
import os
import subprocess


class Failed(Exception):
    """isobit did not do what it was asked for; the message is what it said."""


class Program:
    """The program, and the Python that has the engines (or None: whatever isobit finds)."""

    def __init__(self, isobit, python=None):
        self.isobit, self.python = os.path.abspath(isobit), python
        self.environment = {**os.environ, **({"ISOBIT_PYTHON": python} if python else {})}
        self._here = None
        self.measured = self.known = 0  # processes of platforms that were run, and runs that labs had already

    def json(self, *arguments, codes=(0,)):
        done = subprocess.run([self.isobit, "--json", "--quiet", *map(str, arguments)], capture_output=True, text=True,
                              env=self.environment)
        if done.returncode not in codes:
            raise Failed(f"isobit {' '.join(map(str, arguments))}: exit code {done.returncode}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def here(self):
        """({library: its platforms here, in the order of isobit}, {engine: its version})"""
        if self._here is None:
            libraries = {"isobit": ["ordered"]}
            for v in self.json("platforms", "--vendors"):
                if v.get("float32_digest"):
                    libraries.setdefault(v["platform"].split("@")[0], []).append(v["platform"])
            listed = self.json("platforms", "--engines")
            self._here = libraries, {e["engine"]: e["version"] for e in listed if e["installed"]}
        return self._here

    def measure(self, model, lab, platforms, inputs=(), keep="forks", repeat=1):
        """The model's subject in `isobit compare` after measuring it. `inputs`: paths, or NAME=path."""
        told = self.json("measure", model, "--platforms", ",".join(platforms), "--out", lab, "--keep", keep,
                         "--repeat", repeat, *(w for i in inputs for w in ("--input", i)))
        self.measured += told["measured"]
        self.known += told["known"]
        return told["comparison"]["subjects"][0]

    def layers(self, lab):
        """What `isobit explain` says of every value: classes, and how far they lie apart."""
        return self.json("explain", lab, codes=(0, 1))

    def reveal(self, platform, m, n, k, column=0):
        """The order in which a column of a product of [m, k] by [k, n] is added, in words; a digest of it; its arithmetic
        and bits."""
        told = self.json("reveal", "matmul", "--platform", platform, "--m", m, "--n", n, "--k", k, "--column", column,
                         "--probes")
        probes = {p["name"]: p["finding"] for p in told.get("probes", [])}
        return {"order": told["words"], "tree": told["digest"], "probes": probes, "bits": told["confirmation"].get("bits")}


def first_fork(explained, a, b):
    """The first value in execution order that two platforms made differently, of what `isobit explain` said; or None."""
    at = {p["name"]: i for i, p in enumerate(explained["platforms"])}
    return next((v for v in explained["values"] if v["of"][at[a]] and v["of"][at[b]] and v["of"][at[a]] != v["of"][at[b]]), None)


def ran(subject):
    """The platforms of a subject that gave a result."""
    return [p for p in subject["platforms"] if p.get("class")]


def classes_of(subject, names=None):
    """{platform: class}, of all platforms that ran or of those named."""
    return {p["name"]: p["class"] for p in ran(subject) if names is None or p["name"] in names}


def count(subject, names=None):
    """How many bit-distinct outputs these platforms have."""
    return len(set(classes_of(subject, names).values()))


def errors(subject):
    return {p["name"]: p["error"].split("\n")[0][:160] for p in subject["platforms"] if p.get("error")}
