"""Trains the network of a job in PyTorch: the same batches, the same first weights. Prints a line of JSON for every step
and one with the scores.

usage: torch_training.py JOB.toml THREADS            train from the job's model.weights
       torch_training.py JOB.toml THREADS float64    the same in float64
       torch_training.py JOB.toml                    write that file: what the network's library draws
"""
import json
import math
import sys
import tomllib

import batches
import numpy
import safetensors.torch
import torch
from torch import nn
from torch.nn import functional as F


def refuse_what_differs(job):
    """What this training does not do as isobit does, or draws by other numbers."""
    model, data = job["model"], job["data"]
    if (data.get("augment") or data.get("micro_batches", 1) != 1 or model.get("dropout") or model.get("freeze")
            or model.get("label_smoothing") or job["optimizer"].get("group")):
        sys.exit("no augmentation, dropout, smoothing, micro-batches, frozen parameters or groups here")


def module_of(job):
    model = job["model"]
    if model["builder"] == "gpt2":
        import transformers
        config = transformers.GPT2Config(n_layer=model["layers"], n_head=model["heads"], n_embd=model["channels"],
                                         n_positions=model["positions"], resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
        return transformers.GPT2LMHeadModel(config)
    import torchvision
    module = getattr(torchvision.models, model["builder"])(num_classes=10)
    if model["form"] == "small":
        module.conv1, module.maxpool = nn.Conv2d(3, 64, 3, padding=1, bias=False), nn.Identity()
    return module


def write_weights(module, path):
    safetensors.torch.save_file({n: t for n, t in module.state_dict().items() if n != "lm_head.weight"}, path)


def begin_with(module, path):
    missing, unknown = module.load_state_dict(safetensors.torch.load_file(path), strict=False)
    if unknown or set(missing) - {"lm_head.weight"}:  # which is the embedding again
        sys.exit(f"{path}: {missing} are missing, {unknown} unknown")


def optimizer_of(job, module):
    o, parameters = job["optimizer"], list(module.parameters())
    groups = [{"params": [p for p in parameters if p.dim() > 1], "weight_decay": o.get("weight_decay", 0.0)},
              {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0}]
    if o["name"] == "sgd":
        return torch.optim.SGD(groups, lr=o["lr"], momentum=o["momentum"], nesterov=o.get("nesterov", False))
    return torch.optim.AdamW(groups, lr=o["lr"], betas=(o.get("beta1", 0.9), o.get("beta2", 0.999)),
                             eps=o.get("epsilon", 1e-8))


def rate(job, step):
    """docs/formats/job.md; the cosine is rounded once more there, in float32."""
    lr, schedule, steps = job["optimizer"]["lr"], job.get("schedule", {}), job["job"]["steps"]
    warmup, least = schedule.get("warmup", 0), schedule.get("min_lr", 0.0)
    if step < warmup:
        return lr * (step + 1) / warmup
    if schedule.get("name", "constant") == "constant":
        return lr
    if schedule["name"] != "cosine":
        sys.exit(f"no schedule {schedule['name']} here")
    angle = numpy.float32(math.pi) * numpy.float32((step - warmup) / (steps - warmup))
    return least + 0.5 * (lr - least) * (1 + float(numpy.float32(math.cos(angle))))


def as_input(array):
    tensor = torch.from_numpy(array)
    return tensor.to(torch.get_default_dtype()) if tensor.is_floating_point() else tensor


def scores_of(module, inputs):
    found = module(inputs)
    return (found if torch.is_tensor(found) else found.logits).flatten(0, -2)


def train(job, module, samples):
    optimizer, clip = optimizer_of(job, module.train()), job["optimizer"].get("clip_norm", 0.0)
    for step, (inputs, labels) in enumerate(batches.batches(job, samples)):
        for group in optimizer.param_groups:
            group["lr"] = rate(job, step)
        loss = F.cross_entropy(scores_of(module, as_input(inputs)), torch.from_numpy(labels).flatten())
        optimizer.zero_grad()
        loss.backward()
        if clip > 0:
            nn.utils.clip_grad_norm_(module.parameters(), clip)
        optimizer.step()
        print(json.dumps({"step": step + 1, "loss": loss.item(), "lr": rate(job, step)}), flush=True)


@torch.no_grad()
def test(job, module, samples):
    module.eval()
    loss, right, rows = 0.0, 0, 0
    for inputs, labels in batches.test_batches(job, samples, 8 if job["data"]["dataset"] == "text" else 100):
        scores, wanted = scores_of(module, as_input(inputs)), torch.from_numpy(labels).flatten()
        loss += F.cross_entropy(scores, wanted, reduction="none").double().sum().item()
        right += (scores.argmax(-1) == wanted).sum().item()
        rows += len(wanted)
    print(json.dumps({"test_loss": loss / rows, "test_top1": right / rows}), flush=True)


def main():
    path, *more = sys.argv[1:]
    with open(path, "rb") as file:
        job = tomllib.load(file)
    refuse_what_differs(job)
    if "float64" in more:
        torch.set_default_dtype(torch.float64)
    torch.manual_seed(job["job"]["seed"])
    module = module_of(job)
    if not more:
        write_weights(module, job["model"]["weights"])
        return
    torch.set_num_threads(int(more[0]))
    samples = batches.samples_of(job)
    begin_with(module, job["model"]["weights"])
    train(job, module, samples)
    test(job, module, samples)


if __name__ == "__main__":
    main()
