#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the PTX of each module of horovodpp/device/kernels, or checks that it is up to date.

    scripts/make_ptx.py            # needs nvcc
    scripts/make_ptx.py --check

batch.cu becomes batch.ptx, and tensors.cu tensors.ptx, each packed. A file contains the hash of
its sources. It supports the oldest supported driver and GPU: CUDA 11.2, which accepts PTX 7.2, and
compute capability 7.5. --check fails if the sources have changed since, or if an installed ptxas
rejects a file.
"""

import argparse
import hashlib
import io
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "horovodpp/device/kernels"
SHARED = ["arguments.h", "bodies.h", "elements.h", ROOT / "horovodpp/kernel/host_device.h",
          ROOT / "horovodpp/core/reduce_arithmetic.h"]
# The modules, and the sources of each.
MODULES = {
    "batch": ["batch.cu", "names.h", *SHARED],
    "tensors": ["tensors.cu", "tensor_arguments.h", "tensor_bodies.h", "tensor_names.h",
                ROOT / "horovodpp/kernel/loops/functors.h",
                ROOT / "horovodpp/kernel/scalar_to.h", *SHARED],
}
VERSION = "7.2"
OPTIONS = ["-std=c++20", "-O3", "-fmad=false", "--expt-relaxed-constexpr", f"-I{ROOT}"]


def tool(name):
    return shutil.which(name) or shutil.which(name, path="/usr/local/cuda/bin")


def archive_of(module):
    return FOLDER / f"{module}.ptx.tar.xz"  # Thousands of generated lines are no source.


def first_line(module):
    sources = b"".join((FOLDER / name).read_bytes() for name in MODULES[module])
    return f"// Made by scripts/make_ptx.py of {hashlib.sha256(sources).hexdigest()}\n"


def made(module):
    """The PTX, without the parts that differ between versions of nvcc and have no meaning."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out.ptx"
        subprocess.run([tool("nvcc"), *OPTIONS, "-arch=compute_75", "-ptx", "-o", out,
                        FOLDER / f"{module}.cu"], check=True)
        text = out.read_text()
    lines = [line.split("//")[0].strip() for line in text.splitlines()]
    text = "\n".join(line for line in lines if line) + "\n"
    text = re.sub(r"^(\S+)\s+", r"\1 ", text, flags=re.MULTILINE)
    return re.sub(r"^\.version .*$", f".version {VERSION}", text, flags=re.MULTILINE)


def pack(module, text):
    """Writes the archive, the same bytes for the same text."""
    data = text.encode()
    member = tarfile.TarInfo(f"{module}.ptx")
    member.size, member.mtime = len(data), 1  # Ninja takes a file of time 0 for missing.
    with tarfile.open(archive_of(module), "w:xz") as archive:
        archive.addfile(member, io.BytesIO(data))


def packed(module):
    with tarfile.open(archive_of(module)) as archive:
        return archive.extractfile(f"{module}.ptx").read().decode()


def check(module):
    text = packed(module)
    if not text.startswith(first_line(module)):
        return f"{archive_of(module)} is not of these sources: run scripts/make_ptx.py"
    if tool("ptxas") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / f"{module}.ptx"
        source.write_text(text)
        for gpu in ("sm_75", "sm_90"):
            result = subprocess.run(
                [tool("ptxas"), f"-arch={gpu}", "-O0", "-o", f"{folder}/out", source],
                capture_output=True, text=True)
            if result.returncode != 0:
                return f"ptxas -arch={gpu}: {result.stderr}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    if parser.parse_args().check:
        return "\n".join(filter(None, map(check, MODULES))) or None
    if tool("nvcc") is None:
        return "there is no nvcc: it comes with the CUDA toolkit"
    for module in MODULES:
        pack(module, first_line(module) + made(module))
    return None


if __name__ == "__main__":
    sys.exit(main())
