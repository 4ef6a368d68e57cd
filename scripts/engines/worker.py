#!/usr/bin/env python3
"""Runs one model on one platform of one engine, in a fresh process: what `isobit measure` starts.

  worker.py REQUEST.json FOLDER   writes FOLDER/answer.json (docs/formats/engine-answer.md)
  worker.py --list                the engines, which of them are installed, and their platforms, as JSON

Exit status: 0 there is an answer, which may be that the engine refuses; 1 there is none.
"""
import ast
import importlib
import importlib.metadata
import importlib.util
import json
import os
import sys
import time

ENGINES = ["onnxruntime", "pytorch", "openvino", "tensorflow", "jax", "opencv", "numpy"]


FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, FOLDER)


def facts(name):
    """What a module says of its engine, read without running it: it may need packages that are not there."""
    if name not in ENGINES:
        raise ValueError(f"engine: found '{name}', expected one of: {', '.join(ENGINES)}")
    with open(os.path.join(FOLDER, f"engine_{name}.py"), encoding="utf-8") as file:
        tree = ast.parse(file.read())
    return {n.targets[0].id: ast.literal_eval(n.value) for n in tree.body if isinstance(n, ast.Assign) and
            n.targets[0].id in ("ABOUT", "PACKAGES", "TAP", "SETTINGS", "DEFAULTS")}


def missing(packages):
    """The distributions that are not installed."""
    return [dist for name, dist in packages.items() if importlib.util.find_spec(name) is None]


def version_of(dist):
    for name in (dist, f"{dist}-cpu"):  # TensorFlow comes under both names
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            pass
    return ""


def list_engines():
    listed = []
    for name in ENGINES:
        about = facts(name)
        lacks = missing(about["PACKAGES"])
        listed.append({"engine": name, "about": about["ABOUT"], "settings": about["SETTINGS"],
                       "default_settings": about["DEFAULTS"],
                       "version": "" if lacks else version_of(next(iter(about["PACKAGES"].values()))),
                       "install": f"pip install {' '.join(lacks)}" if lacks else ""})
    return {"isobit_engines": 1, "engines": listed}


def timed(function, *arguments):
    begin = time.monotonic()
    result = function(*arguments)
    return time.monotonic() - begin, result


def words_of(error):
    words = " ".join(str(error).split())
    return f"{type(error).__name__}: {words[:1000]}"


def outputs_as_values(recorder, outputs):
    for name, array in outputs.items():
        recorder(name, "", array, output=True)


def perform(request, folder):
    """The untapped run first, so that its outputs are those of a fresh process; then the tapped one."""
    from protocol import Recorder, Unavailable, platform_record, read_inputs
    about = facts(request["engine"])
    lacks = missing(about["PACKAGES"])
    if lacks:
        raise Unavailable(f"not installed: pip install {' '.join(lacks)}")
    if request["setting"] not in about["SETTINGS"]:
        raise Unavailable(f"{request['engine']} has no setting '{request['setting']}', expected one of: "
                          f"{', '.join(s for s in about['SETTINGS'] if s)}")
    module = importlib.import_module(f"engine_{request['engine']}")
    module.prepare_environment(request["setting"], request["threads"])
    inputs = read_inputs(request)
    engine = module.Engine(request["model"], request["setting"], request["threads"], inputs)
    runs, kept = [], {}
    if request["untapped"]:
        recorder = Recorder(request, folder, kept)
        seconds, outputs = timed(engine.run, inputs)
        outputs_as_values(recorder, outputs)
        runs.append({"tapped": False, "seconds": seconds, "values": recorder.values})
    if request["tapped"]:
        recorder = Recorder(request, folder, kept)
        try:
            seconds, outputs = timed(engine.run_tapped, inputs, recorder)
        except Exception as error:
            if not runs:
                raise
            about["TAP"] = f"failed: {words_of(error)}"  # what it computes by itself is known all the same
            outputs = None
        if outputs is not None:  # else the engine has no way to show its operators
            runs.append({"tapped": True, "seconds": seconds, "values": recorder.values})
    record = platform_record(request["platform"], request["engine"],
                             {"threads": request["threads"], "setting": request["setting"],
                              "version": version_of(next(iter(about["PACKAGES"].values()))), **engine.versions(),
                              "tap": about["TAP"]})
    return {"platform": record, "runs": runs, "kept": sorted(kept)}


def write_answer(folder, answer):
    """In one step: a reader sees the whole answer or none."""
    temporary = os.path.join(folder, "answer.json.tmp")
    with open(temporary, "w", encoding="utf-8") as file:
        json.dump({"isobit_answer": 1, **answer}, file)
    os.replace(temporary, os.path.join(folder, "answer.json"))


def limit_blas(request_path):
    with open(request_path, encoding="utf-8") as file:
        threads = json.load(file).get("threads", 1)
    os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = str(threads)


def main():
    if sys.argv[1:] == ["--list"]:
        json.dump(list_engines(), sys.stdout, indent=1)
        return
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    request_path, folder = sys.argv[1:]
    limit_blas(request_path)  # before anything loads NumPy
    if importlib.util.find_spec("numpy") is None:
        write_answer(folder, {"unavailable": "not installed: pip install numpy"})
        return
    from protocol import Refused, Unavailable, read_request
    request = read_request(request_path)
    try:
        answer = perform(request, folder)
    except Refused as why:
        answer = {"refused": str(why)[:2000]}
    except Unavailable as why:
        answer = {"unavailable": str(why)[:2000]}
    except MemoryError:
        answer = {"failed": "not enough memory"}
    except Exception as error:  # whatever a library throws is the outcome of this platform, and no end of the sweep
        answer = {"failed": words_of(error)}
    write_answer(folder, answer)


if __name__ == "__main__":
    main()
