"""Matmul and convolution beside OpenBLAS, MKL and oneDNN: one program each, in which all take turns."""
import json
import os
import subprocess
import tempfile

PROGRAMS = ["matmul", "conv"]
QUICK = r"square/1024|B=4 T=64/|digits|mnist|128 32x32/(64>64|512>512)|8 224x224/(3>|256>256|512>2048)"


def listed(program, only):
    done = subprocess.run([program, "--list", "--only", only], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def measure(bench, part, threads):
    """Whatever is not there yet; a record as soon as a case is done."""
    program = os.path.join(bench.options.build, "bench", f"{part}_bench")
    digest = bench.digest(program)
    only = bench.options.filter or (QUICK if bench.options.quick else "")
    names = listed(program, only)
    missing = [n for n in names if not bench.results.has(part, n, threads, digest)]
    bench.say(f"{part}, {threads} thread(s): {len(missing)} of {len(names)} cases to be measured")
    if not missing:
        return
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as done:
        done.write("".join(f"{n}\n" for n in names if n not in missing))
        done.flush()
        command = [program, "--threads", str(threads), "--skip", done.name, "--only", only, "--rounds",
                   str(bench.rounds(7, 2))]
        environment = dict(os.environ, ISOBIT_BENCH_LIBRARIES=bench.options.libraries)
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as running:
            context = {}
            bench.others.share()
            for line in running.stdout:
                said = json.loads(line)
                if "context" in said:
                    context = said["context"]
                    continue
                name = said.pop("name")
                bench.keep(part, name, threads, digest, {**said, "versions": context}, place=names.index(name))
    if running.returncode:
        bench.fail(f"{program}: exit code {running.returncode}")


def run(bench):
    for part in PROGRAMS:
        for threads in bench.options.threads:
            bench.until_quiet(lambda: measure(bench, part, threads))
