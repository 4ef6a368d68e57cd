#!/usr/bin/env python3
"""Every operator of isobit, forward and gradient, against PyTorch in float64.

usage: torch_oracle.py OP_RUNNER WORK_FOLDER

float64 results must agree within 1e-12, float32 results within the few units in the last place that each case states,
data movement exactly; and every platform of this machine must give the same bytes. An operator of isobit's list that
no case runs, or whose gradient none asks for, is a failure. Exit status 77 where there is no torch.
"""
import json
import pathlib
import subprocess
import sys
import zlib

import cases_control
import cases_elementwise
import cases_reductions
import cases_movement
import cases_windows
import cases_composite
import operator_cases
import training_cases
from exchange import load, save, torch

EPSILON = {torch.float32: 2.0 ** -23, torch.float64: 2.0 ** -52}
F64_BOUND = 1e-12  # relative


def run_everywhere(tool, work, cases):
    """The results of one platform, after checking that the others give the same; and the operators that ran."""
    tensors = {}
    for case in cases:
        for name, tensor in case.inputs.items():
            tensors[f"{case.name}/{name}"] = tensor
        if case.wrt:
            tensors[f"{case.name}/weights"] = case.weights
    save(work / "in.safetensors", tensors)
    (work / "cases.json").write_text(json.dumps([case.description() for case in cases]))
    platforms = sorted(names(tool, "--platforms"), reverse=True)
    first = None
    for platform in platforms:
        out = work / (platform.replace("/", "-") + ".safetensors")
        ran = subprocess.run([tool, platform, str(work / "cases.json"), str(work / "in.safetensors"), str(out)],
                             check=True, stdout=subprocess.PIPE, text=True).stdout.split()
        first = first or out
        if out.read_bytes() != first.read_bytes():
            sys.exit(f"{platform} and {platforms[0]} differ")
    print(len(cases), "cases on", ", ".join(platforms))
    return load(first), set(ran)


def in_float64(tensors):
    return {n: t.double() if t.is_floating_point() else t for n, t in tensors.items()}


def evaluate(function, case, inputs, weights):
    """Outputs, and gradients of sum(first output * weights), as torch sees them."""
    for name in case.wrt:
        inputs[name] = inputs[name].detach().clone().requires_grad_()
    found = function(**inputs)
    if case.wrt:
        loss = (found[case.outputs[0]] * weights).sum()
        grads = torch.autograd.grad(loss, [inputs[n] for n in case.wrt])
        found.update({"grad/" + n: g for n, g in zip(case.wrt, grads)})
    return {n: t.detach() for n, t in found.items()}


def scale_of(mode, name, expected, magnitudes):
    if mode == "each":
        return expected[name].abs()
    if mode == "tensor":
        return expected[name].abs().max().expand_as(expected[name])
    return magnitudes()[name].abs()


class Report:
    def __init__(self):
        self.failures, self.worst = 0, {}

    def fail(self, case, text):
        self.failures += 1
        print(f"DIFFERS {case.name}: {text}")

    def compare(self, case, name, found, expected, bound, magnitudes):
        want = expected[name]
        if found.shape != want.shape:
            return self.fail(case, f"{name}: shape {list(found.shape)}, expected {list(want.shape)}")
        mode, ulps = bound
        if mode == "exact" or not found.is_floating_point():
            if not torch.equal(found, want.to(found.dtype)):
                self.fail(case, f"{name}: found {found.flatten()[:8].tolist()}, expected {want.flatten()[:8].tolist()}")
            return None
        unit = EPSILON[found.dtype]
        limit = F64_BOUND / unit if found.dtype == torch.float64 else ulps + 1e-5
        error, scale = (found.double() - want).abs(), scale_of(mode, name, expected, magnitudes) * unit
        bad = ~(error <= scale * limit)  # a NaN is bad
        ratio = (error / scale.clamp(min=1e-300)).max().item() if found.numel() else 0.0
        key = (case.name.rsplit(".", 1)[0], "gradient" if name.startswith("grad/") else "forward", mode, limit)
        self.worst[key] = max(self.worst.get(key, 0.0), ratio)
        if bad.any():
            i = bad.flatten().nonzero()[0].item()
            self.fail(case, f"{name}[{i}]: found {found.flatten()[i].item()!r}, expected {want.flatten()[i].item()!r}, "
                            f"error {ratio:.3g} ulp of {mode}, allowed {limit:.3g}")
        return None

    def check(self, case, results):
        found = {n: results[f"{case.name}/{n}"] for n in case.outputs + ["grad/" + n for n in case.wrt]}
        if case.check:
            for what, holds in case.check({**case.inputs, "weights": case.weights}, found, case.dtype).items():
                if not holds:
                    self.fail(case, what)
            return
        inputs, weights = in_float64(case.inputs), None if case.weights is None else case.weights.double()
        expected = evaluate(case.expect, case, dict(inputs), weights)

        def magnitudes():
            positive = {n: t.abs() if t.is_floating_point() else t for n, t in inputs.items()}
            return evaluate(case.magnitude, case, positive, None if weights is None else weights.abs())
        for name, tensor in found.items():
            bound = case.gradient if name.startswith("grad/") else case.forward
            self.compare(case, name, tensor, expected, bound, magnitudes)

    def print(self):
        print("largest errors, in units in the last place:")
        for (op, part, mode, limit), ratio in sorted(self.worst.items()):
            print(f"  {op:32} {part:8} {ratio:10.3g} of {limit:.3g} ({mode})")


def all_cases():
    cases = operator_cases.Cases()
    modules = (operator_cases, cases_elementwise, training_cases, cases_control, cases_reductions, cases_movement,
               cases_windows, cases_composite)
    groups = [group for module in modules for group in module.GROUPS]
    for group in groups:
        group(cases)
    for case in cases.all:
        if case.wrt:
            with torch.no_grad():
                shape = case.expect(**in_float64(case.inputs))[case.outputs[0]].shape
            torch.manual_seed(zlib.crc32(case.name.encode()) ^ 1)
            case.weights = operator_cases.uniform(case.dtype, shape, 0.5, 1.5)
    return cases.all


def names(tool, option):
    return set(subprocess.run([tool, option], check=True, capture_output=True, text=True).stdout.split())


def main():
    tool, work = sys.argv[1], pathlib.Path(sys.argv[2])
    work.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    cases = all_cases()
    results, ran = run_everywhere(tool, work, cases)
    report = Report()
    for case in cases:
        report.check(case, results)
    report.print()
    listed, differentiable = names(tool, "--list"), names(tool, "--differentiable")
    differentiated = {node["op"] for case in cases if case.wrt for node in case.nodes}
    for what, missing in (("", listed - ran), (" (gradient)", differentiable - differentiated)):
        for op in sorted(missing):
            report.failures += 1
            print(f"NOT COVERED {op}{what}")
    if report.failures:
        sys.exit(f"{report.failures} failures")
    print(len(listed), "operators agree,", len(differentiable), "of them with gradients")


main()
