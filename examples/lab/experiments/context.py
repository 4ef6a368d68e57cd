"""What an experiment is given, and what it gives back."""
import dataclasses
import hashlib
import json
import os

import numpy

from . import networks, program


@dataclasses.dataclass
class Claim:
    """One finding of the study. `appears` and `says` follow from what was measured, here and now; None: not decidable."""
    finding: str
    appears: bool | None
    says: str
    why: str = ""

    def words(self):
        verdict = {True: "Appears here", False: "Does not appear here", None: "Cannot be decided here"}[self.appears]
        return f"{verdict}: {self.says}" + (f" {self.why}" if self.why else "")


@dataclasses.dataclass
class Figure:
    file: str
    alternative: str  # what it shows, in words


@dataclasses.dataclass
class Table:
    title: str
    head: list
    rows: list

    def markdown(self):
        line = lambda cells: "| " + " | ".join(str(c) for c in cells) + " |"  # noqa: E731
        return "\n".join([self.title, "", line(self.head), line("---" for _ in self.head), *map(line, self.rows)])


@dataclasses.dataclass
class Result:
    claims: list
    figures: list
    tables: list
    numbers: dict


class Context:
    """The program, the configuration, the folder of the results, and the optional data."""

    def __init__(self, isobit, python, config, out, data):
        self.program, self.config = program.Program(isobit, python), config
        self.out, self.data = out, data
        self.remarks, self.models = [], {}
        os.makedirs(out, exist_ok=True)

    def path(self, *names):
        path = os.path.join(self.out, *names)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def remark(self, text):
        if text not in self.remarks:
            self.remarks.append(text)

    def data_file(self, *names):
        """A file of the optional data, or None, which is remarked upon."""
        path = os.path.join(self.data, *names) if self.data else None
        if path and os.path.exists(path):
            return path
        self.remark(f"{'/'.join(names)} is not here; what needs it is left out (--data FOLDER)")
        return None

    def model(self, name, builder, **more):
        """Writes a network into the folder of the results; the path."""
        path = builder.save(self.path("models", f"{name}.onnx"), **more)
        return self.note_model(path)

    def note_model(self, path):
        with open(path, "rb") as f:
            self.models[os.path.basename(path)] = hashlib.sha256(f.read()).hexdigest()
        return path

    def named_model(self, name):
        return self.model(name, networks.NAMED[name](self.config["seed"]))

    def array(self, name, array):
        path = self.path("inputs", f"{name}.npy")
        numpy.save(path, array)
        return path

    def lab(self, name):
        """The lab of that name. One of an earlier call goes on: what it has is not measured again."""
        return self.path("labs", f"{name}.lab")

    def platforms(self, names, threads=1):
        """Of names as in isobit, and `isobit`, `openblas` and so on for all of that library: those that are here."""
        libraries, engines = self.program.here()
        known, found = {p for all_of in libraries.values() for p in all_of}, []
        for name in names:
            own = name.split("+")[0]  # without the algorithm
            if name in libraries:
                found += libraries[name]
            elif own in known or own.split("@")[0] in engines:
                found.append(name)
            else:
                self.remark(f"{name} is not here")
        return [f"{n.split('+')[0]}/{threads}t" + "".join("+" + a for a in n.split("+")[1:]) for n in found]

    def is_engine(self, platform):
        return platform.split("/")[0].split("@")[0] in self.program.here()[1]

    def study(self):
        """The published study's comparison, or None where its records are not here."""
        archive = self.data_file("deviations", "equivalence_classes.tar.zst")
        return self.program.json("compare", archive, codes=(0, 1)) if archive else None

    def note_errors(self, subject):
        for name, error in program.errors(subject).items():
            self.remark(f"{name} did not run {subject['subject']['model']}: {error}")


def write(context, result, name, title, seconds):
    """result.json and result.md into the folder of the results."""
    libraries, engines = context.program.here()
    document = {"experiment": name, "title": title, "seconds": round(seconds, 1),
                "measured": context.program.measured, "known": context.program.known,
                "claims": [dataclasses.asdict(c) for c in result.claims],
                "figures": [dataclasses.asdict(f) for f in result.figures], "numbers": result.numbers,
                "models": context.models, "libraries": libraries, "engines": engines, "remarks": context.remarks}
    with open(context.path("result.json"), "w") as f:
        json.dump(document, f, indent=1)
        f.write("\n")
    lines = [f"# {title}", ""]
    for figure in result.figures:
        lines += [f"![{figure.alternative}]({figure.file})", ""]
    for table in result.tables:
        lines += [table.markdown(), ""]
    for claim in result.claims:
        lines += [f"- *{claim.finding}* {claim.words()}"]
    if context.remarks:
        lines += ["", "Left out:", "", *(f"- {r}" for r in context.remarks)]
    with open(context.path("result.md"), "w") as f:
        f.write("\n".join(lines) + "\n")
    return document
