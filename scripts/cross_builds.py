"""Builds of the importer and what stands on it for the machines that are emulated here (aarch64, riscv64).

The importer needs Protocol Buffers, which Debian does not have for every machine: their lite runtime is built from the
distribution's source package, of the version of the protoc that is installed.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MACHINES = ["aarch64", "riscv64"]
TOOLS = ["cmake", "ninja", "protoc", "tar"]
QUICK = ["-DCMAKE_BUILD_TYPE=Release", "-DISOBIT_TOGETHER=ON", "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG"]


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def run(command, log, cwd=None):
    with open(log, "a", encoding="utf-8") as out:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, cwd=cwd, check=False)
    if done.returncode:
        sys.exit(f"{os.path.basename(sys.argv[0])}: {' '.join(command)}: exit code {done.returncode}; see {log}")


def sources_of_protobuf(folder):
    """The unpacked source package: of protoc's version, as what protoc makes asks for."""
    said = subprocess.run(["protoc", "--version"], capture_output=True, text=True, check=True).stdout
    name = f"protobuf-{said.split()[-1]}"
    there = os.path.join(folder, name)
    if os.path.isdir(there):
        return there
    if not shutil.which("apt-get"):
        skip("no apt-get")
    lists, parts = os.path.join(folder, "lists"), os.path.join(folder, "parts")
    os.makedirs(os.path.join(lists, "partial"), exist_ok=True)
    os.makedirs(parts, exist_ok=True)
    with open("/etc/os-release", encoding="utf-8") as file:
        system = file.read()
    suite = re.search(r"^VERSION_CODENAME=(\w+)", system, re.M)
    if not suite or not re.search(r"^ID=debian$", system, re.M):
        skip("not a Debian")
    with open(os.path.join(parts, "source.sources"), "w", encoding="utf-8") as file:
        file.write(f"Types: deb-src\nURIs: http://deb.debian.org/debian\nSuites: {suite[1]}\nComponents: main\n"
                   "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n")
    apt = ["apt-get", "-qq", "-o", "Dir::Etc::sourcelist=/dev/null", "-o", f"Dir::Etc::sourceparts={parts}",
           "-o", f"Dir::State::lists={lists}", "-o", "APT::Sandbox::User=root"]
    for command in (["update"], ["source", "--download-only", "protobuf"]):
        if subprocess.run(apt + command, cwd=folder, stdin=subprocess.DEVNULL, check=False).returncode:
            skip("no sources of Protocol Buffers")
    packed = glob.glob(os.path.join(folder, f"{name.replace('-', '_')}.orig.tar.*"))
    if not packed:
        skip(f"the sources of Protocol Buffers are not those of {name}")
    # Moved when it is whole, so that what was cut short is not taken for it.
    with tempfile.TemporaryDirectory(dir=folder) as work:
        subprocess.run(["tar", "-xf", packed[0], "-C", work], check=True)
        os.rename(os.path.join(work, name), there)
    return there


def build(machine, sources, folder, jobs, target):
    """The folder of that machine's build, in which the target is made."""
    log = os.path.join(folder, f"{machine}.log")
    toolchain = f"-DCMAKE_TOOLCHAIN_FILE={ROOT}/cmake/toolchains/{machine}.cmake"
    runtime, own = os.path.join(folder, f"protobuf-{machine}"), os.path.join(folder, machine)
    run(["cmake", "-G", "Ninja", "-S", sources, "-B", runtime, toolchain, *QUICK, "-Dprotobuf_BUILD_TESTS=OFF",
         "-Dprotobuf_BUILD_PROTOC_BINARIES=OFF", "-Dprotobuf_WITH_ZLIB=OFF", "-Dprotobuf_BUILD_SHARED_LIBS=OFF"], log)
    run(["cmake", "--build", runtime, "-j", str(jobs), "--target", "libprotobuf-lite"], log)
    library = os.path.join(runtime, "libprotobuf-lite.a")
    run(["cmake", "-G", "Ninja", "-S", ROOT, "-B", own, toolchain, *QUICK, "-DISOBIT_CORE_ONLY=ON", "-DISOBIT_ONNX=ON",
         f"-DProtobuf_INCLUDE_DIR={sources}/src", f"-DProtobuf_LIBRARY={library}", f"-DProtobuf_LITE_LIBRARY={library}",
         f"-DProtobuf_PROTOC_EXECUTABLE={shutil.which('protoc')}"], log)
    run(["cmake", "--build", own, "-j", str(jobs), "--target", target], log)
    return own


def machines_here():
    """Those of MACHINES that have a compiler and an emulator; says which have not. Skips where a tool is missing."""
    for tool in TOOLS:
        if not shutil.which(tool):
            skip(f"no {tool}")
    machines = [m for m in MACHINES if shutil.which(f"qemu-{m}") and shutil.which(f"{m}-linux-gnu-g++")]
    for machine in MACHINES:
        if machine not in machines:
            print(f"skipped: no compiler and emulator of {machine}")
    if not machines:
        sys.exit(77)
    return machines
