#!/usr/bin/env python3
"""Recomputes job digests and job roots from docs/formats/job.md and fields.md alone (tomllib and hashlib, no isobit).

usage: job_oracle.py GOLDEN ROOT            checks every line, exit status 1 at a difference
       job_oracle.py GOLDEN ROOT --write    fills in the digests again (only with a new format version)

Lines: DIGEST JOB.toml [TABLE.KEY=VALUE ...]    the file is relative to ROOT, a VALUE is in TOML's notation, without blanks
       DIGEST FIELD=VALUE ...                   a job root of these fields: a number, or 64 hex digits
"""
import hashlib
import os
import struct
import sys
import tomllib

VERSIONS = "generator:philox4x32-10/1 samples:1 preprocessing:1 tensor-root:1 graph:2 trace:1"
OPTIMIZER_DEFAULTS = {"momentum": 0.0, "nesterov": False, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8}


def text(s):
    return struct.pack("<Q", len(s.encode())) + s.encode()


def tagged(tag, version, payload):
    return hashlib.sha256(
        text(tag) + struct.pack("<I", version) + struct.pack("<Q", len(payload)) + payload).digest()


def boolean(v):
    return b"\x01" + (b"\x01" if v else b"\x00")


def i64(v):
    return b"\x02" + struct.pack("<q", v)


def u64(v):
    return b"\x03" + struct.pack("<Q", v)


def f64(v):
    return b"\x04" + struct.pack("<d", v)


def text_field(v):
    return b"\x05" + text(v)


def texts(v):
    return b"\x06" + struct.pack("<Q", len(v)) + b"".join(map(text, v))


def numbers(v):
    return b"\x07" + struct.pack("<Q", len(v)) + b"".join(text(k) + struct.pack("<d", v[k]) for k in sorted(v))


def digest_field(v):
    return b"\x08" + v


def fields(items):
    """items: name -> type and value."""
    body = b"".join(text(name) + items[name] for name in sorted(items, key=str.encode))
    return struct.pack("<Q", len(items)) + body


def job_fields(job):
    def get(table, key, default=None):
        return job.get(table, {}).get(key, default)

    arithmetic = get("job", "arithmetic", "ordered-1")
    builder, dataset = get("model", "builder", "onnx" if get("model", "onnx") else None), get("data", "dataset")
    out = {"job.name": text_field(get("job", "name", "job")), "job.seed": u64(get("job", "seed", 0)),
           "job.steps": i64(get("job", "steps")), "job.arithmetic": text_field(arithmetic),
           "model.builder": text_field(builder), "data.dataset": text_field(dataset),
           "data.batch": i64(get("data", "batch")), "evaluate.samples": i64(get("evaluate", "samples", 0)),
           "commit.every": i64(get("commit", "every", 1))}
    if builder == "resnet":
        out |= {"model.blocks": i64(get("model", "blocks", 1)), "model.width": i64(get("model", "width", 16))}
    torchvisions = ("resnet18", "resnet34", "resnet50", "vgg11-bn")
    if builder in torchvisions:
        out["model.form"] = text_field(get("model", "form", "imagenet"))
    if builder in ("resnet", "onnx", *torchvisions):
        for key, default in (("running_variance", "biased"), ("batch_norm", "train")):
            if get("model", key, default) != default:
                out["model." + key] = text_field(get("model", key))
    if builder == "onnx" and get("model", "outputs", []):
        out["model.outputs"] = texts(get("model", "outputs"))
    loss = get("model", "loss", "cross-entropy")
    if loss != "cross-entropy":
        out["model.loss"] = text_field(loss)
    elif get("model", "label_smoothing", 0) != 0:
        out["model.label_smoothing"] = f64(get("model", "label_smoothing"))
    if loss == "huber" and get("model", "huber_delta", 1) != 1:
        out["model.huber_delta"] = f64(get("model", "huber_delta"))
    if get("model", "freeze", []):
        out["model.freeze"] = texts(sorted(get("model", "freeze")))
    if builder in ("gpt", "gpt2"):
        out |= {"model." + k: i64(get("model", k, d)) for k, d in (("layers", 2), ("heads", 4), ("channels", 64))}
        if get("model", "positions", 0) != 0:
            out["model.positions"] = i64(get("model", "positions"))
    if builder in ("gpt", "gpt2", "vgg11-bn"):
        out["model.dropout"] = f64(get("model", "dropout", 0.0))
    if dataset == "text":
        out["data.context"] = i64(get("data", "context"))
        if get("data", "tokenizer", "bytes") != "bytes":
            out["data.tokenizer"] = text_field(get("data", "tokenizer"))
    else:
        out["data.augment"] = texts(sorted(get("data", "augment", [])))
    if dataset == "npy" and get("data", "target", "by-type") != "by-type":
        out["data.target"] = text_field(get("data", "target"))
    if dataset in ("npy", "images") and get("data", "bytes", "scaled") != "scaled":
        out["data.bytes"] = text_field(get("data", "bytes"))
    for key in ("classes",) if dataset == "npy" else ("height", "width", "channels") if dataset == "images" else ():
        if get("data", key) is not None:
            out["data." + key] = i64(get("data", key))
    optimizer = get("optimizer", "name", "sgd")
    out["optimizer.name"] = text_field(optimizer)
    for key in ("lr", "weight_decay", "clip_norm") + (("momentum",) if optimizer == "sgd" else
                                                      ("beta1", "beta2", "epsilon")):
        out["optimizer." + key] = f64(get("optimizer", key, OPTIMIZER_DEFAULTS.get(key, 0.0)))
    if optimizer == "sgd":
        out["optimizer.nesterov"] = boolean(get("optimizer", "nesterov", False))
    if get("data", "micro_batches", 1) != 1:
        out["data.micro_batches"] = i64(get("data", "micro_batches"))
    for i, group in enumerate(get("optimizer", "group", [])):
        name = f"optimizer.group.{i}."
        out |= {name + "match": text_field(group["match"]), name + "lr_factor": f64(group.get("lr_factor", 1.0))}
        if "weight_decay" in group:
            out[name + "weight_decay"] = f64(group["weight_decay"])
    schedule = get("schedule", "name", "constant")
    out |= {"schedule.name": text_field(schedule), "schedule.warmup": i64(get("schedule", "warmup", 0))}
    if schedule == "step":
        out |= {"schedule.every": i64(get("schedule", "every")), "schedule.factor": f64(get("schedule", "factor", 0.1))}
    if schedule in ("cosine", "linear"):
        out["schedule.min_lr"] = f64(get("schedule", "min_lr", 0.0))
    return out | rounding_fields(arithmetic, job.get("rounding", {}))


def rounding_fields(arithmetic, rounding):
    out = {}
    if arithmetic in ("logged-1", "rounded"):
        out["rounding.bits"] = i64(rounding.get("bits", 32))
    if arithmetic != "logged-1":
        return out
    log = rounding.get("log", "sparse")
    out["rounding.log"] = text_field(log)
    if log == "ovt":
        distance = rounding.get("distance", True)
        out |= {"rounding.threshold": f64(rounding.get("threshold", 0.25)),
                "rounding.thresholds": numbers(rounding.get("thresholds", {})),
                "rounding.distance": boolean(distance)}
        if not distance:
            return out
    bound = rounding.get("bound", "calibrated")
    out["rounding.bound"] = text_field(bound)
    if bound == "calibrated":
        out |= {"rounding.divergence": f64(rounding.get("divergence", 32.0)),
                "rounding.divergences": numbers(rounding.get("divergences", {}))}
    return out


def job_digest(job):
    return tagged("isobit.job", 2, text("isobit.job") + struct.pack("<I", 2) + fields(job_fields(job)))


def job_root(items):
    def field(v):
        return digest_field(bytes.fromhex(v)) if len(v) == 64 else u64(int(v))
    parts = {name: field(value) for name, value in (item.split("=", 1) for item in items)}
    return tagged("isobit.job-root", 2, fields(parts | {"versions": text_field(VERSIONS)})).hex()


def digest_of_line(root, path, overrides):
    with open(os.path.join(root, path), "rb") as f:
        job = tomllib.load(f)
    for item in overrides:
        name, value = item.split("=", 1)
        table, key = name.split(".", 1)
        job.setdefault(table, {})[key] = tomllib.loads("v = " + value)["v"]
    return job_digest(job).hex()


def main():
    golden, root = sys.argv[1:3]
    with open(golden, encoding="utf-8") as f:
        lines = f.read().splitlines()
    checked = wrong = 0
    for i, line in enumerate(lines):
        if not line or line.startswith("#"):
            continue
        claimed, path, *overrides = line.split()
        is_root = "=" in path
        found = job_root([path, *overrides]) if is_root else digest_of_line(root, path, overrides)
        checked += 1
        if claimed != found:
            wrong += 1
            print(f"{golden}:{i + 1}: found {found}")
            lines[i] = " ".join([found, path, *overrides])
    if "--write" in sys.argv:
        with open(golden, "w", encoding="utf-8") as f:
            f.write("\n".join(lines) + "\n")
        return
    print(f"{checked} digests, {wrong} wrong")
    sys.exit(wrong > 0 or checked == 0)


if __name__ == "__main__":
    main()
