#!/usr/bin/env python3
"""Networks as they are trained, against the libraries that they are from: isobit's builders of their names, and two files.

  builders.py FOLDER --program build/release/tests/oracles/training_dump           every one
  builders.py FOLDER --program ... --only "resnet18, 32x32" --only "gpt2, small"   some
  builders.py FOLDER --program ... --table docs/real-networks.md                   and the table of that page

Every network begins with weights that its library drew: a builder's with those that it wrote to a safetensors file
(model.weights), an imported one with those of the ONNX file. It is trained on random data, in training form: batch norms
normalise by the batch. Compared are

  - loss and gradients of the first step, both in float64: at most 1e-9 apart, a gradient relative to its X
  - five steps in float32 (ordered-1) with the same five in float64 by PyTorch: losses, relative, and how far weights and
    running statistics are from where they ought to be, as a part of the way that they went. PyTorch's own five steps in
    float32 are measured in the same way: isobit's may be ten times as far away, or 1e-4 of the way.

Exit status: 0 all agree; 1 not; 2 usage.
"""
import argparse
import collections
import contextlib
import os
import sys

import limited
import tables
import torch
import vjp
from networks import SEED, torch_of, vision_transformer

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "oracles"))
import exchange  # noqa: E402

F = torch.nn.functional
STEPS = 5
WEIGHTS, NETWORK = "model.safetensors", "model.onnx"
COLUMNS = ["builder", "parameters", "loss apart", "gradients apart", "losses of five steps apart", "weights after them",
           "PyTorch's own float32", "agrees"]

# module, in training mode; the [model] table; sample(count, chance): inputs by name and labels; how many classes; how
# many samples in a step; write(module, folder, inputs): writes weights or network as their library does; as_exported:
# networks.Network.
Case = collections.namedtuple("Case", "module model sample classes batch write rate as_exported",
                              defaults=[0.01, contextlib.nullcontext])


def write_state(module, folder, _):
    import safetensors.torch
    safetensors.torch.save_file(module.state_dict(), os.path.join(folder, WEIGHTS))


def write_network(module, folder, inputs):
    vjp.export(module, inputs, ["scores"], os.path.join(folder, NETWORK), "legacy")


def images(size, classes):
    def sample(count, chance):
        return ({"input": torch.randn(count, 3, size, size, generator=chance)},
                torch.randint(0, classes, (count,), generator=chance))
    return sample


def texts(length, classes):
    def sample(count, chance):
        text = torch.randint(0, classes, (count, length + 1), generator=chance)
        return {"input": text[:, :-1]}, text[:, 1:]
    return sample


def sentences(length, vocabulary, classes):
    """With padding at the end of each."""
    def sample(count, chance):
        lengths = torch.randint(length // 2, length + 1, (count, 1), generator=chance)
        return ({"input_ids": torch.randint(0, vocabulary, (count, length), generator=chance),
                 "attention_mask": (torch.arange(length) < lengths).long()},
                torch.randint(0, classes, (count,), generator=chance))
    return sample


def spread_norms(module):
    """Scales that are all 1 and biases that are all 0 say little."""
    chance = torch.Generator().manual_seed(SEED)
    with torch.no_grad():
        for part in module.modules():
            if isinstance(part, (torch.nn.BatchNorm2d, torch.nn.LayerNorm)):
                part.weight.add_(torch.randn(part.weight.shape, generator=chance) * 0.1)
                part.bias.add_(torch.randn(part.bias.shape, generator=chance) * 0.1)
    return module.train()


def residual(name, small, batch, size, classes):
    def build():
        torch_of()
        import torchvision
        module = getattr(torchvision.models, name)(weights=None, num_classes=classes)
        if small:
            module.conv1 = torch.nn.Conv2d(3, 64, 3, 1, 1, bias=False)
            module.maxpool = torch.nn.Identity()
        model = {"builder": name, "form": "small" if small else "imagenet", "running_variance": "unbiased"}
        # At rates of practice, batches as small as these send a deep network's float32 elsewhere, PyTorch's as well.
        return Case(spread_norms(module), model, images(size, classes), classes, batch, write_state, 1e-4)
    return build


def vgg(small, batch, size, classes):
    def build():
        torch_of()
        import torchvision
        module = torchvision.models.vgg11_bn(weights=None, num_classes=classes, dropout=0.0)
        if small:
            module.avgpool = torch.nn.AdaptiveAvgPool2d(1)
            module.classifier = torch.nn.Linear(512, classes)
        model = {"builder": "vgg11-bn", "form": "small" if small else "imagenet", "running_variance": "unbiased"}
        return Case(spread_norms(module), model, images(size, classes), classes, batch, write_state)
    return build


class Scores(torch.nn.Module):
    """What of a library's network are the scores."""

    def __init__(self, inner, scores):
        super().__init__()
        self.inner, self.scores = inner, scores

    def forward(self, *inputs):
        return self.scores(self.inner, *inputs)


def gpt2(batch, length, headless=False, **sizes):
    def build():
        torch_of()
        import transformers
        config = transformers.GPT2Config(attn_implementation="eager", resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
                                         **sizes)
        module = spread_norms(transformers.GPT2LMHeadModel(config))
        written = module.transformer if headless else module  # without a head the names have no prefix
        model = {"builder": "gpt2", "layers": config.n_layer, "heads": config.n_head, "channels": config.n_embd,
                 "positions": config.n_positions}
        return Case(Scores(module, lambda inner, x: inner(input_ids=x, use_cache=False).logits), model,
                    texts(length, config.vocab_size), config.vocab_size, batch,
                    lambda _, folder, __: written.save_pretrained(folder), 0.1)
    return build


def logistic(features, classes, batch):
    def build():
        torch_of()
        module = torch.nn.Sequential(collections.OrderedDict(fc=torch.nn.Linear(features, classes)))

        def sample(count, chance):
            return ({"input": torch.randn(count, features, generator=chance)},
                    torch.randint(0, classes, (count,), generator=chance))
        return Case(module, {"builder": "logistic"}, sample, classes, batch, write_state)
    return build


@contextlib.contextmanager
def float32_root_of_scale():
    """Queries and keys are each scaled by the fourth root of the head's size, which the exporter writes in float32."""
    original = F.scaled_dot_product_attention

    def attention(query, *others, **more):
        return original(query, *others, scale=vjp.single(query.shape[-1] ** -0.25) ** 2, **more)

    F.scaled_dot_product_attention = attention
    try:
        yield
    finally:
        F.scaled_dot_product_attention = original


def vit(batch, size, classes, **sizes):
    def build():
        torch.backends.mha.set_fastpath_enabled(False)  # the exporter has no name for it
        module = vision_transformer(size, classes, **sizes)
        return Case(spread_norms(module), {"onnx": NETWORK}, images(size, classes), classes, batch, write_network,
                    as_exported=float32_root_of_scale)
    return build


def bert(batch, length, classes, **sizes):
    def build():
        torch_of()
        import transformers
        config = transformers.BertConfig(attn_implementation="eager", hidden_dropout_prob=0.0, num_labels=classes,
                                         attention_probs_dropout_prob=0.0, **sizes)
        module = spread_norms(transformers.BertForSequenceClassification(config))
        return Case(Scores(module, lambda inner, ids, mask: inner(input_ids=ids, attention_mask=mask).logits),
                    {"onnx": NETWORK}, sentences(length, config.vocab_size, classes), classes, batch, write_network)
    return build


SMALL_GPT2 = dict(n_layer=2, n_head=2, n_embd=32, n_positions=24, vocab_size=101)
CASES = {
    "resnet18, 32x32": residual("resnet18", True, 2, 32, 10),
    "resnet50, 32x32": residual("resnet50", True, 2, 32, 10),
    "vgg11-bn, 32x32": vgg(True, 2, 32, 10),
    "resnet18, ImageNet": residual("resnet18", False, 2, 224, 1000),
    "resnet50, ImageNet": residual("resnet50", False, 2, 224, 1000),
    "resnet34, ImageNet, 64x64": residual("resnet34", False, 4, 64, 10),
    "vgg11-bn, ImageNet": vgg(False, 2, 224, 1000),
    "gpt2, small": gpt2(3, 16, **SMALL_GPT2),
    "gpt2, small, without a head": gpt2(3, 16, True, **SMALL_GPT2),
    "gpt2, 124M": gpt2(2, 16),
    "logistic, 1024": logistic(1024, 10, 32),
    "vit-s/16": vit(1, 224, 1000),
    "vit, small": vit(2, 32, 10, num_layers=2, num_heads=4, hidden_dim=32, mlp_dim=64),
    "bert-base": bert(2, 16, 2),
    "bert, small": bert(3, 12, 2, num_hidden_layers=2, num_attention_heads=2, hidden_size=32, intermediate_size=64,
                        vocab_size=101, max_position_embeddings=16),
}


def toml(value):
    return f'"{value}"' if isinstance(value, str) else str(value)


def write_job(folder, case):
    """Random data of as many samples as the steps take."""
    import numpy
    chance = torch.Generator().manual_seed(SEED)
    inputs, labels = case.sample(case.batch * STEPS, chance)
    files = {f"inputs.{n}" if len(inputs) > 1 else "inputs": t for n, t in inputs.items()}
    for name, value in {**files, "labels": labels}.items():
        numpy.save(os.path.join(folder, name + ".npy"), numpy.ascontiguousarray(value.numpy()))
    case.write(case.module, folder, {n: t[:case.batch] for n, t in inputs.items()})
    model = case.model if "onnx" in case.model else {**case.model, "weights": WEIGHTS}
    data = {"dataset": "npy", "path": ".", "batch": case.batch, "classes": case.classes}
    path = os.path.join(folder, "job.toml")
    with open(path, "w", encoding="utf-8") as file:
        for table, fields in (("job", {"steps": STEPS}), ("model", model), ("data", data),
                              ("optimizer", {"name": "sgd", "lr": case.rate, "momentum": 0.9})):
            file.writelines([f"[{table}]\n"] + [f"{key} = {toml(value)}\n" for key, value in fields.items()])
    return path, list(inputs)


def own_name(name, case):
    """In the file, which knows nothing of the wrapper here; a network's file has its names."""
    return name if "onnx" in case.model else name.removeprefix("inner.")


def loss_of(module, dump, step):
    """The dump calls the first input by its name so, those behind it by their own."""
    real = next(module.parameters()).dtype
    names = sorted(module.inputs)
    given = {n: dump[f"{n if place else 'input'}/{step}"] for place, n in enumerate(names)}
    scores = module(*(given[n].to(real) if given[n].is_floating_point() else given[n] for n in module.inputs))
    return F.cross_entropy(scores.flatten(0, -2), dump[f"labels/{step}"].flatten())


def first_step(case, dump):
    """(loss apart, gradients apart, the parameter of the latter, how many)."""
    loss = loss_of(case.module, dump, 1)
    found = dump["float64/loss"].item()
    parameters = {own_name(n, case): p for n, p in case.module.named_parameters()}
    gradients = dict(zip(parameters, torch.autograd.grad(loss, list(parameters.values()))))
    names = sorted(n.removeprefix("float64/grad/") for n in dump if n.startswith("float64/grad/"))
    if names != sorted(gradients):
        raise vjp.Failure(f"parameters {sorted(set(names) ^ set(gradients))[:4]} are not in both")
    size = {n: g.abs().max().item() for n, g in gradients.items()}

    def least_scale(name):
        """The gradient of a bias before a batch norm is 0, and what is found of it is what its layer's sums round to."""
        weight = size.get(name.removesuffix("bias") + "weight", 0) if name.endswith(".bias") else 0
        return max(vjp.NOTHING * max(size.values()), 1e-3 * weight)

    apart = {n: vjp.apart(dump[f"float64/grad/{n}"], g, least_scale(n)) for n, g in gradients.items()}
    worst = max(apart, key=apart.get)
    return abs(found - loss.item()) / abs(loss.item()), apart[worst], worst, len(apart)


def train(case, dump, begun):
    """Losses and the state after STEPS steps."""
    module = case.module
    module.load_state_dict(begun)
    optimizer = torch.optim.SGD(module.parameters(), lr=case.rate, momentum=0.9)
    losses = []
    for step in range(1, STEPS + 1):
        loss = loss_of(module, dump, step)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, real_state(module.state_dict(), case)


def real_state(state, case):
    return {own_name(n, case): t.detach().double().clone() for n, t in state.items()
            if t.is_floating_point() and n != "inner.lm_head.weight"}  # the embedding again


def gone_astray(found, wanted, start):
    """How far the whole state is from where it ought to be, as a part of the way to there."""
    error = sum((found[n] - wanted[n]).square().sum() for n in wanted).sqrt()
    way = sum((wanted[n] - start[n]).square().sum() for n in wanted).sqrt()
    return (error / way).item()


def largest_apart(found, wanted):
    return max(abs(f - w) / abs(w) for f, w in zip(found, wanted))


def check(folder, case, program, seconds, gigabytes, platform):
    os.makedirs(folder, exist_ok=True)
    (job, case.module.inputs), out = write_job(folder, case), os.path.join(folder, "out.safetensors")
    vjp.program_says(program, [job, platform, str(STEPS), out, "gradients"], seconds, gigabytes)
    dump = exchange.load(out)
    begun = {n: t.clone() for n, t in case.module.state_dict().items()}
    with case.as_exported():
        _, state32 = train(case, dump, begun)
        case.module.load_state_dict(begun)
        case.module.double()
        loss_apart, gradient_apart, worst, count = first_step(case, dump)
        losses, state = train(case, dump, begun)
    found, start = {n: dump["final/" + n].double() for n in state}, real_state(begun, case)
    result = {"parameters": count, "loss": loss_apart, "gradient": gradient_apart, "worst": worst,
              "losses": largest_apart(dump["losses"].tolist(), losses), "weights": gone_astray(found, state, start),
              "own": gone_astray(state32, state, start)}
    follows = max(result["losses"], result["weights"]) <= max(1e-4, 10 * result["own"])
    result["verdict"] = "yes" if max(loss_apart, gradient_apart) <= vjp.MOST and follows else f"no: {worst}"
    return result


def cells(row):
    numbers = [f"{row[k]:.1e}" for k in ("loss", "gradient", "losses", "weights", "own")]
    return [row["name"], row["parameters"], *numbers, row["verdict"]]


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("folder")
    add("--program", required=True, help="build/release/tests/oracles/training_dump")
    add("--only", action="append", metavar="NAME", help="this builder; may be given several times")
    add("--platform", default="ordered", help="where isobit runs (ordered)")
    add("--seconds", type=float, default=3600, help="limit of isobit's run (3600)")
    add("--gigabytes", type=float, default=20, help="limit of its memory (20)")
    add("--table", metavar="FILE", help="write the table into this document")
    options = parser.parse_args()
    unknown = [name for name in options.only or [] if name not in CASES]
    if unknown:
        parser.error(f"--only: there is no builder {unknown[0]!r}; there are {', '.join(CASES)}")
    return options


def main():
    options = parse()
    known = tables.Known(os.path.join(options.folder, "builders.json"))
    for name in options.only or CASES:
        folder = os.path.join(options.folder, name.replace(", ", "-"))
        try:
            row = check(folder, CASES[name](), options.program, options.seconds, options.gigabytes, options.platform)
        except vjp.Failure as failure:
            sys.exit(f"{name}: {failure}")
        known.keep(name, {**row, "name": name})
        print(f"{name:<30} {' '.join(str(cell) for cell in cells(known.rows[name])[1:])}", flush=True)
    if options.table:
        tables.write(options.table, "builders", COLUMNS, [cells(known.rows[n]) for n in CASES if n in known.rows])
    sys.exit(0 if all(row["verdict"] == "yes" for row in known.rows.values()) else 1)


if __name__ == "__main__":
    main()
