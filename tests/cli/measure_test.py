#!/usr/bin/env python3
"""isobit measure: sweeps over platforms of our own and over workers that behave badly; what the lab then holds."""
import os
import random
import signal
import sqlite3
import struct
import time

from isobit_cli import DIGITS, Case, main
from onnx_by_hand import DOUBLE, FLOAT, INT64, graph, ints, model, node, npy, tensor, value

# Rounding matters: a product of 64 terms whose order shows, a softmax and a sum.
ROUNDS = model(graph([node("MatMul", ["x", "x"], ["h"], "product"), node("Softmax", ["h"], ["p"], "softmax"),
                      node("Shape", ["x"], ["size"], "size"), node("ReduceSum", ["h", "axes"], ["s"], "sum")],
                     [value("x", [64, 64])], [value("p", [64, 64]), value("s", [1, 64]), value("size", [2], INT64)], [ints("axes", 0)]))
# What the workers below say that they have run.
SOFTMAX = model(graph([node("Softmax", ["x"], ["p"], "softmax")], [value("x", [2])], [value("p", [2])]))
# Three platforms with two results: an inner product in order, and one that is rounded once.
OURS = "ordered@reference/1t,ordered@portable/1t,ordered/1t:correct-1"

# A worker.py whose engines are: honest, and for each way to misbehave one of that name.
FAKE = r"""
import json, os, sys, time
ENGINES = ["honest", "unstable", "refuses", "fails", "dies", "exits", "silent", "stalls", "lies", "garbage", "huge", "linked",
           "other_name", "bad_hash", "bad_dims", "deep", "absent", "lacks", "loses", "links", "twice", "empty", "half", "more"]
if sys.argv[1] == "--list":
    print(json.dumps({"isobit_engines": 1, "engines": [
        {"engine": e, "about": "a fake", "settings": ["", "fast"], "default_settings": [""],
         "version": "" if e == "absent" else "1", "install": "pip install absent" if e == "absent" else ""}
        for e in ENGINES]}))
    sys.exit()
with open(sys.argv[1]) as f:
    r = json.load(f)
folder = sys.argv[2]
e = r["engine"]
def answer(text):
    with open(os.path.join(folder, "answer.json"), "w") as f:
        f.write(text)
def value(**more):
    return {"name": "p", "op": "Softmax", "dtype": "float32", "dims": [2], "hash": HASH, "kernel": "", "output": True, **more}
BYTES = b"\0\0\x80\x3f\0\0\0\x40"
HASH = "HASH_OF_BYTES"
if e == "unstable":
    HASH = "%032x" % time.time_ns()
with open("/proc/cpuinfo") as f:
    lines = [line.partition(":") for line in f]
facts = {key.strip(): found.strip() for key, _, found in reversed(lines)}
flags = sorted(set(next((facts[k] for k in ("flags", "Features", "isa") if k in facts), "").split()))
good = {"isobit_answer": 1, "platform": {"name": r["platform"], "engine": e, "cpu_flags": flags,
        "cores": len(os.sched_getaffinity(0)),
        "fields": {"version": "1", "cpu": facts.get("model name", os.uname().machine)}},
        "runs": [{"tapped": False, "seconds": 0.5, "values": [value()]}], "kept": []}
if r["tapped"]:
    good["runs"].append({"tapped": True, "seconds": 1, "values": [value(name="h", op="MatMul", output=False), value()]})
if HASH in r["keep"]:
    if e == "links":
        os.symlink("/etc/passwd", os.path.join(folder, HASH + ".bin"))
    elif e != "loses":
        with open(os.path.join(folder, HASH + ".bin"), "wb") as f:
            f.write(BYTES if e != "lies" else BYTES[::-1])
    good["kept"].append(HASH)
if e == "refuses":
    good = {"isobit_answer": 1, "refused": "no converter for: \x1b[31mSoftmax"}
if e == "fails":
    good = {"isobit_answer": 1, "failed": "RuntimeError: no"}
if e == "lacks":
    good = {"isobit_answer": 1, "unavailable": "not installed: pip install it"}
if e == "twice":
    good["runs"] = [good["runs"][0]] * 2
if e == "empty":
    good["runs"][0]["values"] = []
if e == "half":
    good["runs"][0]["values"] = [value(output=False)]
if e == "more":
    good["runs"][0]["values"].append(value(name="q"))
if e == "dies":
    os.abort()
if e == "exits":
    sys.exit("first line\nwhat is wrong with me")
if e == "silent":
    sys.exit(0)
if e == "stalls":
    time.sleep(1000)
if e == "other_name":
    good["platform"]["name"] = "honest/1t"
if e == "bad_hash":
    good["runs"][0]["values"][0]["hash"] = "xyz"
if e == "bad_dims":
    good["runs"][0]["values"][0]["dims"] = [-1]
text = json.dumps(good)
if e == "garbage":
    text = text[:-5]
if e == "huge":
    text = " " * (40 << 20) + text
if e == "deep":
    text = "[" * 100000
if e == "linked":
    os.symlink("/etc/passwd", os.path.join(folder, "answer.json"))
    sys.exit(0)
answer(text)
"""
# XXH3_128bits of the eight bytes 00 00 80 3f 00 00 00 40.
HASH = "4533ce61c4655ba3c3e077b25dd1d769"


class Sweep(Case):
    def measure(self, path, *arguments, **more):
        return self.isobit_json("measure", path, "--out", self.path("m.lab"), *arguments, **more)

    def query(self, sql):
        with sqlite3.connect(self.path("m.lab")) as lab:
            return lab.execute(sql).fetchall()

    def test_platforms_of_ours(self):
        path = self.write("rounds.onnx", ROUNDS)
        told = self.measure(path, "--platforms", OURS)
        self.assertEqual((told["platforms"], told["measured"], told["known"], told["not_here"]), (3, 3, 0, []))
        self.assertEqual(told["measured_again"], 2)  # one for each version of what is kept
        subject = told["comparison"]["subjects"][0]
        self.assertEqual([sorted(c["platforms"]) for c in subject["classes"]],
                         [["ordered@portable/1t", "ordered@reference/1t"], [self.canonical("ordered/1t:correct-1")]])
        fork = subject["operators"]["first_fork"]
        self.assertEqual((fork["name"], fork["operator"]), ("h", "MatMul"))
        # In order and rounded once: some element differs, and that is what costs bits of float32's 23.
        self.assertLess(subject["remaining_precision"]["least"], 23)
        self.assertGreater(subject["largest_difference"]["absolute"], 0)
        # By the names of the platforms that made them.
        kernels = {p: k for c in fork["classes"] for p, k in zip(c["platforms"], c["kernels"], strict=True)}
        self.assertEqual((kernels["ordered@portable/1t"], kernels["ordered@reference/1t"]), ("isobit portable", "isobit reference"))
        said = self.isobit("compare", self.path("m.lab"), code=1).out
        self.assertIn("after 0 values that agree", said)
        self.assertIn("ordered@reference/1t (isobit reference)", said)
        # Both versions of all three float values, and the output on which all agree.
        self.assertEqual(told["kept_tensors"], 2 * 3 + 1)
        self.assertEqual(self.query("SELECT op, name FROM nodes ORDER BY place"),
                         [("MatMul", "product"), ("Softmax", "softmax"), ("Shape", "size"), ("ReduceSum", "sum")])
        self.assertEqual(self.query("SELECT count(*) FROM runs WHERE tapped = 1"), [(3,)])
        compared = self.isobit_json("compare", self.path("m.lab"), code=1)
        self.assertEqual(compared["subjects"][0]["classes"], subject["classes"])

    def canonical(self, name):
        best = next(p["platform"] for p in self.isobit_json("platforms") if p["default"])
        return best.split("/")[0] + name[len("ordered"):]

    def test_a_lab_is_gone_on_with(self):
        path = self.write("rounds.onnx", ROUNDS)
        said = self.isobit("measure", path, "--out", self.path("m.lab"), "--platforms", "ordered@portable/1t", "--keep", "none")
        self.assertIn("measured      1 run on 1 platform in ", said.out)
        self.assertIn("1 ran: nothing to compare it with", said.out)
        again = self.measure(path, "--platforms", "ordered@portable/1t", "--keep", "none")
        self.assertEqual((again["platforms"], again["measured"], again["known"]), (1, 0, 1))
        more = self.measure(path, "--platforms", OURS, "--repeat", "2", "--keep", "none")
        self.assertEqual((more["platforms"], more["measured"], more["known"], more["kept_tensors"]), (3, 5, 1, 0))
        self.assertEqual(self.query("SELECT count(*) FROM tensors"), [(0,)])
        # Another seed is another subject in the same lab.
        other = self.measure(path, "--platforms", OURS, "--seed", "2")
        self.assertEqual((other["measured"], len(other["comparison"]["subjects"])), (3, 1))
        self.assertEqual(self.query("SELECT count(*) FROM subjects"), [(2,)])

    def test_all_that_was_made_of_a_given_input_is_kept(self):
        path = self.write("rounds.onnx", ROUNDS)
        generator = random.Random(3)
        data = struct.pack("<4096f", *(generator.gauss(0, 1) for _ in range(4096)))
        x = self.write("x.npy", npy("<f4", [64, 64], data))
        told = self.measure(path, "--platforms", "ordered@portable/1t", "--input", f"x={x}", "--keep", "all")
        # x is no value that an operator made; h, p, size and s are.
        self.assertEqual(told["kept_tensors"], 4)
        self.assertEqual(self.query("SELECT size FROM tensors ORDER BY size"), [(16,), (256,), (16384,), (16384,)])
        kept = {row[0] for row in self.query("SELECT hash FROM tensors")}
        self.assertEqual(kept, {row[0] for row in self.query("SELECT hash FROM run_values")})
        self.assertEqual(len(self.query("SELECT DISTINCT hash FROM run_values WHERE name = 'p'")), 1)
        drawn = self.measure(path, "--platforms", "ordered@portable/1t", "--keep", "none")
        self.assertNotEqual(drawn["comparison"]["subjects"][0]["subject"]["input_sha256"],
                            told["comparison"]["subjects"][0]["subject"]["input_sha256"])

    def test_tensors_are_bounded(self):
        path = self.write("rounds.onnx", ROUNDS)
        told = self.isobit("measure", path, "--platforms", OURS, "--out", self.path("m.lab"), "--max-kept", "20000")
        self.assertIn("are left out: limit 20.0 KB (--max-kept)", told.err)
        self.assertIn("keeping 4 tensors, at most 16.9 KB in the lab", told.err)
        self.assertRegex(told.out, "measured      3 runs on 3 platforms, [12] again for tensors in ")
        self.assertEqual(self.query("SELECT sum(size) <= 20000 FROM tensors"), [(1,)])

    def test_what_makes_no_sense_is_refused(self):
        path = self.write("rounds.onnx", ROUNDS)
        lab = ["--out", self.path("m.lab")]
        self.fails("measure", path, code=2, says=["--out"])
        self.fails("measure", path, *lab, "--keep", "some", code=2, says=["--keep", "forks, all or none"])
        self.fails("measure", path, *lab, "--repeat", "0", code=2, says=["--repeat"])
        self.fails("measure", path, *lab, "--platforms", "ordered@nowhere", code=2, says=["nowhere"])
        self.fails("measure", path, *lab, "--platforms", "ordered/1t:logged-1", code=2, says=["arithmetic of training"])
        self.fails("measure", path, *lab, "--platforms", "ordered/1t:bogus~nehalem", code=3, says=["'bogus'"])
        self.fails("measure", path, *lab, "--python", "/nowhere/python", "--platforms", "numpy/1t", code=4,
                   says=["/nowhere/python", "--python"])
        self.fails("measure", self.path("none.onnx"), *lab, "--platforms", "ordered", code=3, says=["none.onnx"])
        self.assertFalse(os.path.exists(self.path("m.lab")))
        self.write("m.lab", "no lab")
        self.fails("measure", path, *lab, "--platforms", "ordered", code=3, says=["m.lab"])

    def test_without_a_python_our_own_are_measured(self):
        told = self.isobit("measure", self.write("rounds.onnx", ROUNDS), "--python", "/nowhere/python", "--keep", "none",
                           "--out", self.path("m.lab"))
        self.assertIn("without Python engines", told.err)
        self.assertIn("ordered@portable/1t", told.out)


class Badly(Case):
    """Workers that lie, stall or die end no sweep."""

    def setUp(self):
        super().setUp()
        self.write("engines/worker.py", FAKE.replace("HASH_OF_BYTES", HASH))
        self.model = self.write("softmax.onnx", SOFTMAX)

    def measure(self, *arguments, **more):
        return self.isobit("--json", "measure", self.model, "--engines", self.path("engines"), "--out", self.path("m.lab"),
                           *arguments, **more)

    def errors_of(self, result):
        return {p["name"]: p["error"] for p in result.json()["subjects"][0]["platforms"] if p.get("error")}

    def test_an_environment_is_part_of_a_platform(self):
        more = ("--platforms", "honest/1t,ordered@portable/1t", "--keep", "none")
        for value, counts in (("Nehalem", (2, 0)), ("Haswell", (2, 0)), ("Nehalem", (0, 2))):
            told = self.measure(*more, env={"OPENBLAS_CORETYPE": value}).json()
            self.assertEqual((told["measured"], told["known"]), counts, value)
        labels = [p for c in told["comparison"]["subjects"][0]["classes"] for p in c["platforms"]]
        self.assertEqual(len([p for p in labels if "OPENBLAS_CORETYPE=Nehalem" in p]), 2, labels)

    def test_an_interpreter_that_prints_without_end_or_says_nothing(self):
        for name, script in (("yes", "exec yes"), ("hang", "exec sleep 1000")):
            os.chmod(self.write(name, f"#!/bin/sh\n{script}\n"), 0o700)
        for words in (["platforms", "--engines"], ["measure", self.model, "--out", self.path("m.lab"), "--platforms", "numpy/1t"]):
            self.assertIn("printed more than 1.0 MB", self.isobit(*words, "--python", self.path("yes"), code=4).err)
            process = self.start(*words, "--python", self.path("hang"))
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=20)
            self.assertEqual(process.returncode, 130, err)

    def test_where_nothing_ran_there_is_nothing_to_compare(self):
        said = self.isobit("measure", self.model, "--engines", self.path("engines"), "--out", self.path("n.lab"), "--platforms", "fails/1t", code=4)
        self.assertIn("tried         1 run on 1 platform, none of which ran", said.out)
        told = self.measure("--platforms", "refuses/1t,fails/1t", code=4).json()
        self.assertEqual((told["measured"], told["measured_again"]), (2, 0))
        self.assertEqual(told["comparison"]["subjects"][0]["verdict"], "nothing to compare")
        self.assertIn("none ran: nothing to compare", self.isobit("compare", self.path("m.lab"), code=4).out)
        self.isobit("explain", self.path("m.lab"), code=4)
        # One platform has been measured, and agrees with nobody; with itself when it ran again.
        self.measure("--platforms", "honest/1t")
        self.assertIn("1 ran: nothing to compare it with", self.isobit("compare", self.path("m.lab"), code=4).out)
        self.measure("--platforms", "honest/1t", "--repeat", "2")
        self.assertIn("1 ran: compared with itself alone", self.isobit("compare", self.path("m.lab")).out)
        self.measure("--platforms", "honest@fast/1t")
        self.assertIn("2 ran, with 1 result: the same bits everywhere", self.isobit("compare", self.path("m.lab")).out)

    def test_each_is_an_error_of_its_own(self):
        bad = ["refuses", "fails", "dies", "exits", "silent", "stalls", "garbage", "huge", "linked", "other_name", "bad_hash",
               "bad_dims", "deep", "twice", "empty", "half", "more"]
        begin = time.monotonic()
        names = ",".join(f"{e}/1t" for e in ["honest", *bad])
        result = self.isobit("measure", self.model, "--engines", self.path("engines"), "--out", self.path("m.lab"),
                             "--platforms", names, "--max-seconds", "5", "--keep", "none")
        self.assertLess(time.monotonic() - begin, 100)
        errors = self.errors_of(self.isobit("--json", "compare", self.path("m.lab"), code=4))  # only one ran
        self.assertEqual(sorted(errors), sorted(f"{e}/1t" for e in bad))
        for engine, words in {"refuses": "no converter for", "fails": "RuntimeError: no", "dies": "signal 6",
                              "exits": "what is wrong with me", "silent": "without an answer", "stalls": "--max-seconds",
                              "garbage": "no JSON", "huge": "more than", "linked": "answer.json", "other_name": "honest/1t",
                              "bad_hash": "'hash'", "bad_dims": "'dims'", "deep": "deep", "twice": "'runs'",
                              "empty": "'runs'", "half": "found none", "more": "'q'"}.items():
            self.assertIn(words, errors[f"{engine}/1t"], engine)
            self.assertIn(f"{engine}/1t: ", result.err)
        self.assertNotIn("\x1b", result.err + result.out)

    def test_what_died_is_tried_again_and_what_refused_is_not(self):
        # Whatever may have been the machine, and not the engine and the model, is tried again.
        names = ",".join(f"{e}/1t" for e in ("refuses", "exits", "fails", "garbage", "lacks"))
        self.measure("--platforms", names, "--keep", "none", code=4)
        again = self.measure("--platforms", names, "--keep", "none", code=4).json()
        self.assertEqual((again["measured"], again["known"]), (4, 1))
        self.write("engines/worker.py", FAKE.replace("HASH_OF_BYTES", HASH).replace('if e == "fails"', 'if e == "never"'))
        self.assertEqual(self.measure("--platforms", "fails/1t", "--keep", "none").json()["measured"], 1)
        self.assertEqual(self.measure("--platforms", "fails/1t", "--keep", "none").json()["known"], 1)
        platforms = self.isobit_json("compare", self.path("m.lab"), code=4)["subjects"][0]["platforms"]
        self.assertEqual(sorted(p["name"] for p in platforms), sorted(names.split(",")))  # each once
        self.assertEqual([p["name"] for p in platforms if "error" not in p], ["fails/1t"])

    def test_a_kept_tensor_must_be_what_was_hashed(self):
        told = self.measure("--platforms", "honest/1t").json()
        self.assertEqual((told["kept_tensors"], told["kept_bytes"]), (1, 8))
        # Else it is not kept, and nothing but that.
        told = self.isobit("measure", self.model, "--engines", self.path("engines"), "--out", self.path("other.lab"), "--platforms",
                           "lies/1t,loses/1t,links/1t,honest@fast/1t", "--keep", "all")
        self.assertIn("lies/1t: 1 of 1 tensors could not be kept: ", told.err)
        self.assertIn("4 ran, with 1 result", told.out)
        for engine, words in {"loses": "No such file", "links": "link"}.items():
            self.assertIn(words, self.isobit("measure", self.model, "--engines", self.path("engines"), "--out", self.path(engine),
                                             "--platforms", f"{engine}/1t").err, engine)

    def test_a_platform_that_disagrees_with_itself(self):
        told = self.measure("--platforms", "unstable/1t,honest/1t", "--repeat", "3", "--keep", "none").json()
        subject = told["comparison"]["subjects"][0]
        cells = {p["name"]: p["different_outputs"] for p in subject["platforms"]}
        self.assertEqual(cells, {"unstable/1t": 3, "honest/1t": 1})
        self.assertEqual(told["comparison"]["repeated"], {"cells": 2, "disagree_with_themselves": 1})

    def test_engines_are_listed_and_missing_ones_say_how(self):
        listed = {e["engine"]: e for e in self.isobit_json("platforms", "--engines", env={
            "ISOBIT_ENGINES": self.path("engines")})}
        self.assertEqual(listed["honest"]["platforms"], ["honest", "honest@fast"])
        self.assertFalse(listed["absent"]["installed"])
        said = self.isobit("platforms", "--engines", "--python", "python3", env={"ISOBIT_ENGINES": self.path("engines")}).out
        self.assertIn("Engines of python3. To measure: isobit measure MODEL.onnx --python python3 --out LAB\n", said)
        self.assertIn("pip install absent", self.measure("--platforms", "absent/1t", code=4).err)
        self.assertIn("no setting 'slow'", self.measure("--platforms", "honest@slow/1t", code=2).err)

    def test_interrupted_it_goes_on_later(self):
        names = ",".join(["honest/1t", "honest@fast/1t", "stalls/1t"])
        process = self.start("measure", self.model, "--engines", self.path("engines"), "--out", self.path("m.lab"),
                             "--platforms", names, "--keep", "none")
        until = time.monotonic() + 60
        while self.done() < 2 and time.monotonic() < until:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, err)
        self.assertIn("goes on from here", err)
        again = self.measure("--platforms", "honest/1t,honest@fast/1t", "--keep", "none").json()
        self.assertEqual((again["measured"], again["known"]), (0, 2))

    def done(self):
        try:
            with sqlite3.connect(f"file:{self.path('m.lab')}?mode=ro", uri=True) as lab:
                return lab.execute("SELECT count(DISTINCT platform) FROM runs").fetchone()[0]
        except sqlite3.Error:
            return 0


class Training(Case):
    def test_equal_trainings_agree_in_every_value(self):
        lab = self.path("t.lab")
        told = self.isobit_json("measure", DIGITS, "--steps", "2", "--platforms", "ordered@portable/1t,ordered@reference/1t",
                                "--set", "data.batch=8", "--out", lab)
        subject = told["comparison"]["subjects"][0]
        self.assertEqual((len(subject["classes"]), subject["operators"]["first_fork"]), (1, None))
        names = {(v["step"], v["name"]) for v in subject["operators"]["values"]}
        outputs = {(o["step"], o["name"]) for o in subject["classes"][0]["outputs"]}
        self.assertIn((1, "loss"), outputs)
        self.assertIn((2, "loss"), outputs)
        self.assertEqual({s for s, _ in names}, {1, 2})
        self.assertTrue(any("grad" in name for _, name in names), names)
        self.assertEqual({(v["platforms"], v["classes"]) for v in subject["operators"]["values"]}, {(2, 1)})
        self.assertFalse(any(p["changed_by_a_tap"] for p in subject["platforms"]))
        self.isobit("compare", lab)

    def test_the_first_operator_where_trainings_differ_is_named(self):
        lab = self.path("t.lab")
        # Two orders of addition of our own, which every machine has.
        told = self.isobit_json("measure", DIGITS, "--steps", "2", "--platforms", "ordered@portable/1t,ordered@portable/1t+winograd4",
                                "--set", "job.arithmetic=float32", "--set", "data.batch=8", "--out", lab, "--keep", "none")
        subject = told["comparison"]["subjects"][0]
        fork = subject["operators"]["first_fork"]
        self.assertEqual((len(subject["classes"]), fork["step"], fork["operator"]), (2, 1, "Conv"))
        before = subject["operators"]["values"][:fork["place"]]
        self.assertEqual({v["classes"] for v in before}, {1} if before else set())
        self.assertIn(f"first fork      Conv '{fork['name']}' of step 1", self.isobit("compare", lab, code=1).out)

    def test_float32_trainings_fork(self):
        here = [v["platform"] for v in self.vendors() if v.get("float32_digest")]
        if not here:
            self.skipTest("skipped: no vendor's library")
        lab = self.path("t.lab")
        told = self.isobit_json("measure", DIGITS, "--steps", "2", "--platforms", f"ordered/1t,{here[-1]}/1t", "--set",
                                "job.arithmetic=float32", "--set", "data.batch=8", "--out", lab, "--keep", "none")
        fork = told["comparison"]["subjects"][0]["operators"]["first_fork"]
        self.assertEqual(fork["step"], 1)
        self.assertIn(fork["operator"], ("Conv", "MatMul", "Gemm"))
        compared = self.isobit("compare", lab, code=1)
        self.assertIn(f"first fork      {fork['operator']} '{fork['name']}' of step 1", compared.out)

    def test_what_makes_no_sense_is_refused(self):
        lab = ["--out", self.path("t.lab")]
        self.fails("measure", DIGITS, *lab, "--steps", "0", code=2, says=["--steps"])
        self.fails("measure", DIGITS, *lab, "--steps", "1000000", code=2, says=["--steps"])
        self.fails("measure", DIGITS, *lab, "--seed", "1", code=2, says=["--seed", "MODEL.onnx"])
        self.fails("measure", DIGITS, *lab, "--platforms", "numpy/1t", code=2, says=["numpy"])
        self.fails("measure", "m.onnx", *lab, "--steps", "3", code=2, says=["--steps", "JOB.toml"])
        self.fails("measure", *lab, code=2, says=["MODEL.onnx", "--import"])


def wide_matmul(size):
    """An ONNX file of one product whose factors have a wide range of exponents: every order of addition shows."""
    generator = random.Random(7)

    def matrix():
        return struct.pack(f"<{size * size}f", *(generator.gauss(0, 1) * 2.0 ** generator.randint(-12, 12)
                                                 for _ in range(size * size)))
    w = tensor("w", 1, [size, size], matrix())
    return model(graph([node("MatMul", ["x", "w"], ["y"], "product")], [value("x", [size, size])], ["y"], [w])), matrix()


class ManyResults(Case):
    def test_a_library_that_is_not_asked_is_not_named(self):
        here = [v["platform"] for v in self.vendors() if v.get("float32_digest")]
        if not here:
            self.skipTest("skipped: no product library here")
        for kind, ours in ((FLOAT, False), (DOUBLE, True)):
            file = model(graph([node("MatMul", ["x", "x"], ["y"], "product")], [value("x", [64, 64], kind)], ["y"]))
            lab = self.path(f"{kind}.lab")
            told = self.isobit_json("measure", self.write("product.onnx", file), "--platforms", f"ordered/1t,{here[0]}/1t", "--out", lab)
            with sqlite3.connect(lab) as db:
                kernels = [k for k, in db.execute("SELECT kernel FROM run_values v JOIN runs r ON r.id = v.run WHERE r.tapped = 1")]
            self.assertEqual((told["measured"], len(kernels)), (2, 2))
            self.assertEqual([k.startswith("isobit ") for k in sorted(kernels)], [True, ours])

    def test_one_product_has_many_results(self):
        # One of each product that is known to be another one.
        here = {v["float32_digest"]: v["platform"] for v in self.vendors()
                if v.get("float32_digest")}
        if len(here) < 12:
            self.skipTest(f"skipped: libraries here have {len(here)} different products")
        file, x = wide_matmul(257)
        names = ",".join(["ordered/1t", *(f"{p}/1t" for p in here.values())])
        told = self.isobit_json("measure", self.write("matmul.onnx", file), "--platforms", names, "--input",
                                self.write("x.npy", npy("<f4", [257, 257], x)), "--out", self.path("m.lab"), "--keep", "none",
                                "--python", "/nowhere/python")
        self.assertGreaterEqual(len(told["comparison"]["subjects"][0]["classes"]), 12)


if __name__ == "__main__":
    main()
