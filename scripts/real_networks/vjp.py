"""One backward pass in float64: PyTorch's own, and isobit's on the file that PyTorch exported.

The loss is sum(output * cotangent) over all real outputs, with cotangents from a seed. PyTorch and the standard library
are enough. The program is build/release/tests/onnx_gradients/onnx_gradients.
"""
import contextlib
import inspect
import os
import sys

import torch

import limited

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "oracles"))
import exchange  # noqa: E402

MOST = 1e-9
# A gradient so much smaller than the largest one is nothing but rounding: that of an attention's key bias is 0.
NOTHING = 1e-6


class Failure(Exception):
    """What isobit, or the exporter, could not do: one line."""


def single(number):
    return torch.tensor(number, dtype=torch.float32).item()


def as_attributes(module):
    """Numbers that the file keeps as attributes are float32 there, whatever the network computes in."""
    for part in module.modules():
        for name in ("eps", "variance_epsilon", "negative_slope"):
            if isinstance(getattr(part, name, None), float):
                setattr(part, name, single(getattr(part, name)))


SIXTH = single(1 / 6)


class HardSigmoid(torch.nn.Module):
    """With the 1/6 that is an attribute of ONNX's operator."""

    def forward(self, x):
        return (x * SIXTH + 0.5).clamp(0, 1)


def with_attributes(module):
    for name, child in module.named_children():
        if isinstance(child, torch.nn.Hardsigmoid):
            setattr(module, name, HardSigmoid())
        else:
            with_attributes(child)


@contextlib.contextmanager
def float64_throughout():
    """Code that asks for float32 in the middle of a network gets float64."""
    kept = torch.float32, torch.float, torch.Tensor.float
    torch.float32 = torch.float = torch.float64
    torch.Tensor.float = torch.Tensor.double
    try:
        yield
    finally:
        torch.float32, torch.float, torch.Tensor.float = kept


class Wide(torch.nn.Module):
    """The network in float64, those parts included that ask for float32."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner.double()

    def forward(self, *inputs):
        with float64_throughout():
            return self.inner(*inputs)


def distinct(module, seed):
    """No two tensors are equal any more: exporters make one of those that are."""
    chance = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for tensor in module.parameters():
            deviation = tensor.std(unbiased=False).item()
            tensor.add_(torch.randn(tensor.shape, generator=chance) * 0.02 * (deviation or 1))


def export(module, inputs, outputs, path, exporter):
    if exporter == "dynamo":
        more = {"dynamo": True, "optimize": False}
    else:
        more = {"training": torch.onnx.TrainingMode.PRESERVE, "do_constant_folding": False}
        if "dynamo" in inspect.signature(torch.onnx.export).parameters:
            more["dynamo"] = False
    with torch.no_grad():
        torch.onnx.export(module, tuple(inputs.values()), path, input_names=list(inputs), output_names=outputs, **more)


def program_says(program, words, seconds, gigabytes):
    done = limited.run([program, *words], seconds, gigabytes)
    if not done.ended_well:
        raise Failure(done.last_line().removeprefix("onnx_gradients: "))
    return done


def tensors_of(found):
    return (found,) if isinstance(found, torch.Tensor) else tuple(found)


def reference(module, inputs, names, seed):
    """({output: value}, {output: cotangent}, {parameter: gradient}) by PyTorch."""
    found = dict(zip(names, tensors_of(module(*inputs.values()))))
    chance = torch.Generator().manual_seed(seed)
    cotangents = {n: torch.randn(t.shape, generator=chance, dtype=torch.float64)
                  for n, t in found.items() if t.is_floating_point()}
    loss = sum((found[n] * c).sum() for n, c in cotangents.items())
    parameters = {n: p for n, p in module.named_parameters() if p.requires_grad}
    gradients = torch.autograd.grad(loss, list(parameters.values()), allow_unused=True)
    return ({n: t.detach() for n, t in found.items()}, cotangents,
            {n: torch.zeros_like(p) if g is None else g for (n, p), g in zip(parameters.items(), gradients)})


def shared_names(module):
    """{name: every name of the same parameter}, by the one that named_parameters gives."""
    every = {}
    for path, part in module.named_modules(remove_duplicate=False):
        for name, parameter in part.named_parameters(recurse=False):
            every.setdefault(id(parameter), []).append(f"{path}.{name}" if path else name)
    return {names[0]: names for names in every.values()}


def apart(found, wanted, least_scale):
    if found.shape != wanted.shape:
        raise Failure(f"shape {list(found.shape)}, expected {list(wanted.shape)}")
    if found.numel() == 0:
        return 0.0
    scale = max(wanted.abs().max().item(), least_scale)
    difference = (found.double() - wanted.double()).abs().max().item()
    return difference / scale if difference else 0.0


def check(module, inputs, outputs, exporter, program, folder, wide=True, seconds=1800, gigabytes=16,
          platform="ordered", as_exported=contextlib.nullcontext):
    """{"parameters", "output", "gradient", "worst"}: how many were compared, the largest differences relative to the
    scale, and the parameter of the latter. `wide`: the file is in float64; else it is in float32, and isobit widens it.
    `as_exported`: networks.Network.
    Failure: says what isobit cannot do, or which parameter the file does not have."""
    distinct(module, 5)
    as_attributes(module)
    path = os.path.join(folder, "model.onnx")
    wide_inputs = {n: t.double() if t.is_floating_point() else t for n, t in inputs.items()}
    if wide:
        module = Wide(module)
        export(module, wide_inputs, outputs, path, exporter)
    else:
        export(module, inputs, outputs, path, exporter)
        module = module.double()
    with_attributes(module)
    with as_exported():
        values, cotangents, gradients = reference(module, wide_inputs, outputs, 6)

    in_file = set(program_says(program, ["--parameters", path], seconds, gigabytes).out.splitlines())
    names = {n: [x for x in every if x in in_file] for n, every in shared_names(module).items() if n in gradients}
    missing = [n for n, every in names.items() if not every and gradients[n].any()]
    if missing:
        raise Failure(f"{len(missing)} parameters have no name in the file: {', '.join(missing[:3])}")
    given, got, wrt = (os.path.join(folder, f) for f in ("in.safetensors", "out.safetensors", "wrt.txt"))
    exchange.save(given, {**{f"input/{n}": t for n, t in wide_inputs.items()},
                          **{f"cotangent/{n}": t for n, t in cotangents.items()}})
    with open(wrt, "w", encoding="utf-8") as file:
        file.writelines(f"{name}\n" for every in names.values() for name in every)
    program_says(program, [path, given, got, "--wrt", wrt, "--platform", platform], seconds, gigabytes)
    return compare(exchange.load(got), values, gradients, names)


def compare(found, values, gradients, names):
    result = {"parameters": 0, "output": 0.0, "gradient": 0.0, "worst": ""}
    for name, wanted in values.items():
        result["output"] = max(result["output"], apart(found[f"output/{name}"], wanted, 0))
    largest = max(g.abs().max().item() for g in gradients.values() if g.numel())
    for name, wanted in gradients.items():
        parts = [found[f"grad/{n}"] for n in names[name] if f"grad/{n}" in found]
        total = sum(parts[1:], parts[0]) if parts else torch.zeros_like(wanted)
        difference = apart(total, wanted, NOTHING * largest)
        result["parameters"] += 1
        if difference > result["gradient"]:
            result.update(gradient=difference, worst=name)
    return result
