#!/usr/bin/env python3
"""Runs one model on one platform of one engine, in a fresh process: what `isobit measure` starts.

  worker.py REQUEST.json FOLDER   writes FOLDER/answer.json (docs/formats/engine-answer.md)
  worker.py --list                the engines, which of them are installed, and their platforms, as JSON

Exit status: 0 there is an answer, which may be that the engine refuses; 1 there is none.
"""
import importlib
import importlib.metadata
import importlib.util
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
ENGINES = ["onnxruntime", "pytorch", "openvino", "tensorflow", "jax", "opencv", "numpy"]


def engine_module(name):
    if name not in ENGINES:
        raise ValueError(f"engine: found '{name}', expected one of: {', '.join(ENGINES)}")
    return importlib.import_module(f"engine_{name}")


def missing(module):
    """The distributions that the engine needs and that are not installed."""
    return [dist for name, dist in module.PACKAGES.items() if importlib.util.find_spec(name) is None]


def version_of(dist):
    try:
        return importlib.metadata.version(dist)
    except importlib.metadata.PackageNotFoundError:
        return ""


def list_engines():
    listed = []
    for name in ENGINES:
        module = engine_module(name)
        lacks = missing(module)
        listed.append({"engine": name, "about": module.ABOUT, "settings": module.SETTINGS,
                       "default_settings": module.DEFAULTS,
                       "version": "" if lacks else version_of(next(iter(module.PACKAGES.values()))),
                       "install": f"pip install {' '.join(lacks)}" if lacks else ""})
    return {"isobit_engines": 1, "engines": listed}


def timed(function, *arguments):
    begin = time.monotonic()
    result = function(*arguments)
    return time.monotonic() - begin, result


def outputs_as_values(recorder, outputs):
    for name, array in outputs.items():
        recorder(name, "", array, output=True)


def perform(request, folder):
    """The untapped run first, so that its outputs are those of a fresh process; then the tapped one."""
    module = engine_module(request["engine"])
    lacks = missing(module)
    from protocol import Recorder, Refused, platform_record, read_inputs
    if lacks:
        raise Refused(f"not installed: pip install {' '.join(lacks)}")
    if request["setting"] not in module.SETTINGS:
        raise Refused(f"{request['engine']} has no setting '{request['setting']}', expected one of: "
                      f"{', '.join(s for s in module.SETTINGS if s)}")
    module.prepare_environment(request["setting"], request["threads"])
    inputs = read_inputs(request)
    engine = module.Engine(request["model"], request["setting"], request["threads"], inputs)
    runs = []
    kept = {}
    if request["untapped"]:
        recorder = Recorder({**request, "record": "all"}, folder)
        seconds, outputs = timed(engine.run, inputs)
        outputs_as_values(recorder, outputs)
        runs.append({"tapped": False, "seconds": seconds, "values": recorder.values})
        kept.update(recorder.kept)
    if request["record"] != "none":
        recorder = Recorder(request, folder)
        recorder.left -= sum(kept.values())
        recorder.kept.update(kept)
        seconds, outputs = timed(engine.run_tapped, inputs, recorder)
        if outputs is not None:  # null: the engine has no way to show its operators
            runs.append({"tapped": True, "seconds": seconds, "values": recorder.values})
        kept = recorder.kept
    record = platform_record(request["platform"], request["engine"],
                             {"threads": request["threads"], "setting": request["setting"], **engine.versions(),
                              "tap": module.TAP})
    return {"platform": record, "runs": runs, "kept": sorted(kept)}


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
    from protocol import Refused, read_request, write_answer
    request = read_request(request_path)
    try:
        answer = perform(request, folder)
    except Refused as why:
        answer = {"refused": str(why)}
    except MemoryError:
        answer = {"failed": "not enough memory"}
    except Exception as error:  # whatever a library throws is the outcome of this platform, and no end of the sweep
        words = " ".join(str(error).split())
        answer = {"failed": f"{type(error).__name__}: {words[:2000]}"}
    write_answer(folder, answer)


if __name__ == "__main__":
    main()
