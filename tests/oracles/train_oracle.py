#!/usr/bin/env python3
"""The first steps of whole trainings against PyTorch in float64, from isobit's own initial weights and batches.

usage: train_oracle.py TRAINING_DUMP DIGITS_TOML WORK_FOLDER

Four jobs: the digits example (SGD), a residual network with batch norm on the same images (Adam with clipping) with
either kind of running variance, and a small GPT (AdamW). Losses must agree within 1e-6, and the way the weights went
within the part each job states. Exit status 77 where there is no torch.
"""
import functools
import math
import pathlib
import subprocess
import sys

from exchange import load, torch

F = torch.nn.functional
STEPS = 15
LOSS_BOUND = 1e-6  # relative


def small_cnn(w, x):
    x = F.relu(F.conv2d(x, w["conv1.weight"], w["conv1.bias"], padding=1))
    x = F.relu(F.conv2d(x, w["conv2.weight"], w["conv2.bias"], padding=1))
    x = F.relu(F.linear(F.max_pool2d(x, 2).flatten(1), w["fc1.weight"], w["fc1.bias"]))
    return F.linear(x, w["fc2.weight"], w["fc2.bias"])


def resnet(w, x, unbiased=False):
    def batch_norm(name, y):
        running = [w[f"{name}.running_{kind}"] for kind in ("mean", "var")]
        if unbiased:  # PyTorch's own rule, by PyTorch itself; its momentum is the part of the new value
            return F.batch_norm(y, *running, w[name + ".weight"], w[name + ".bias"], True, 0.1, 1e-5)
        for kept, now in zip(running, (y.mean((0, 2, 3)), y.var((0, 2, 3), unbiased=False))):  # ONNX's
            kept.copy_(0.9 * kept + 0.1 * now.detach())
        return F.batch_norm(y, None, None, w[name + ".weight"], w[name + ".bias"], True, 0.0, 1e-5)
    x = F.relu(batch_norm("bn0", F.conv2d(x, w["conv0.weight"], padding=1)))
    for stage in (1, 2, 3):
        name, stride = f"stage{stage}.block1", 1 if stage == 1 else 2
        y = F.relu(batch_norm(name + ".bn1", F.conv2d(x, w[name + ".conv1.weight"], stride=stride, padding=1)))
        y = batch_norm(name + ".bn2", F.conv2d(y, w[name + ".conv2.weight"], padding=1))
        if stride != 1:
            x = batch_norm(name + ".bn3", F.conv2d(x, w[name + ".shortcut.weight"], stride=stride))
        x = F.relu(y + x)
    return F.linear(x.mean((2, 3)), w["fc.weight"], w["fc.bias"])


def gpt(w, tokens, layers=2, heads=2):
    def linear(name, y):
        return F.linear(y, w[name + ".weight"], w[name + ".bias"])

    def norm(name, y):
        return F.layer_norm(y, y.shape[-1:], w[name + ".weight"], w[name + ".bias"], 1e-5)
    batch, context = tokens.shape
    x = F.embedding(tokens, w["wte.weight"]) + w["wpe.weight"]
    future = torch.ones(context, context, dtype=torch.bool).triu(1)
    for h in (f"h{layer}." for layer in range(layers)):
        parts = linear(h + "attn.qkv", norm(h + "ln1", x)).chunk(3, -1)
        q, k, v = (p.view(batch, context, heads, -1).transpose(1, 2) for p in parts)
        scores = (q @ k.transpose(2, 3) / math.sqrt(q.shape[-1])).masked_fill(future, float("-inf"))
        y = (scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, context, -1)
        x = x + linear(h + "attn.proj", y)
        x = x + linear(h + "mlp.proj", F.gelu(linear(h + "mlp.fc", norm(h + "ln2", x)), approximate="tanh"))
    return norm("ln_f", x) @ w["wte.weight"].t()


def cosine(lr, warmup, steps):
    def rate(t):
        return lr * (t + 1) / warmup if t < warmup else lr / 2 * (
            1 + math.cos(math.pi * (t - warmup) / (steps - warmup)))
    return rate


RESNET_JOB = """[job]
seed = 3
steps = 30
[model]
builder = "resnet"
blocks = 1
width = 4
[data]
dataset = "digits"
batch = 16
[optimizer]
name = "adam"
lr = 1e-3
weight_decay = 1e-3
clip_norm = 1.0
[schedule]
name = "cosine"
warmup = 5
"""

GPT_JOB = """[job]
seed = 5
steps = 30
[model]
builder = "gpt"
layers = 2
heads = 2
channels = 16
[data]
dataset = "text"
path = "text.txt"
context = 12
batch = 4
[optimizer]
name = "adamw"
lr = 1e-3
weight_decay = 0.1
epsilon = 1e-5
"""


def train(dump, model, make_optimizer, rate, clip):
    """The same steps in float64: losses and final state."""
    state = {n[len("initial/"):]: t.double() for n, t in dump.items() if n.startswith("initial/")}
    weights = {n: t for n, t in state.items() if "/" not in n and ".running_" not in n}
    for tensor in weights.values():
        tensor.requires_grad_()
    decayed = [t for t in weights.values() if t.dim() >= 2]
    optimizer = make_optimizer(decayed, [t for t in weights.values() if t.dim() < 2])
    losses = []
    for step in range(STEPS):
        found = dump["rates"][step].item()
        if abs(found - rate(step)) > 1e-6 * rate(step):
            sys.exit(f"learning rate of step {step + 1}: found {found}, expected {rate(step)}")
        for group in optimizer.param_groups:
            group["lr"] = found
        images = dump[f"input/{step + 1}"]
        logits = model(state, images.double() if images.is_floating_point() else images)
        loss = F.cross_entropy(logits.flatten(0, -2), dump[f"labels/{step + 1}"].flatten())
        optimizer.zero_grad()
        loss.backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(list(weights.values()), clip)
        optimizer.step()
        losses.append(loss.item())
    for name, tensor in weights.items():
        for kind, key in (("momentum", "momentum_buffer"), ("m", "exp_avg"), ("v", "exp_avg_sq")):
            if f"{name}/{kind}" in state:
                state[f"{name}/{kind}"] = optimizer.state[tensor][key]
    return losses, {n: t.detach() for n, t in state.items()}


def compare(job, dump, losses, state, bound):
    failures = 0
    worst_loss = max(abs(f - e) / abs(e) for f, e in zip(dump["losses"].tolist(), losses))
    if not worst_loss <= LOSS_BOUND:
        failures += 1
        print(f"DIFFERS {job}: losses {dump['losses'].tolist()}, expected {losses}")
    if sorted(n for n in dump if n.startswith("final/")) != sorted("final/" + n for n in state):
        failures += 1
        print(f"DIFFERS {job}: the states do not hold the same tensors")
    worst, where = 0.0, ""
    for name, expected in state.items():
        start = dump["initial/" + name].double()
        gone, error = (expected - start).norm().item(), (dump["final/" + name].double() - expected).norm().item()
        ratio = error / gone if gone else float(error > 0)
        if not ratio <= worst:
            worst, where = ratio, name
        if not ratio <= bound:
            failures += 1
            print(f"DIFFERS {job}: {name} is off by {ratio:.3g} of the way it went")
    print(f"{job}: loss {losses[0]:.6f} to {losses[-1]:.6f}, largest difference {worst_loss:.3g}; weights {worst:.3g} of "
          f"their way ({where})")
    return failures


def run_job(tool, work, job, path, bound, *how):
    out = work / (job + ".safetensors")
    subprocess.run([tool, str(path), "ordered", str(STEPS), str(out)], check=True)
    dump = load(out)
    return compare(job, dump, *train(dump, *how), bound)


def main():
    tool, digits, work = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    work.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    (work / "text.txt").write_text("".join(f"{i} times {i} is {i * i}.\n" for i in range(400)))
    unbiased = RESNET_JOB.replace("width = 4", 'width = 4\nrunning_variance = "unbiased"')
    for name, text in (("resnet", RESNET_JOB), ("resnet-unbiased", unbiased), ("gpt", GPT_JOB)):
        (work / (name + ".toml")).write_text(text)

    def groups(kind, decay, **settings):
        return lambda matrices, others: kind([{"params": matrices, "weight_decay": decay},
                                              {"params": others, "weight_decay": 0.0}], lr=0.1, **settings)
    failures = run_job(tool, work, "digits", digits, 1e-4, small_cnn, groups(torch.optim.SGD, 5e-4, momentum=0.9),
                       cosine(0.05, 20, 300), 0)
    failures += run_job(tool, work, "resnet", work / "resnet.toml", 1e-3, resnet, groups(torch.optim.Adam, 1e-3),
                        cosine(1e-3, 5, 30), 1.0)
    failures += run_job(tool, work, "resnet-unbiased", work / "resnet-unbiased.toml", 1e-3,
                        functools.partial(resnet, unbiased=True), groups(torch.optim.Adam, 1e-3),
                        cosine(1e-3, 5, 30), 1.0)
    failures += run_job(tool, work, "gpt", work / "gpt.toml", 1e-3, gpt, groups(torch.optim.AdamW, 0.1, eps=1e-5),
                        lambda t: 1e-3, 0)
    if failures:
        sys.exit(f"{failures} failures")


main()
