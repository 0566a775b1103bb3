#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes horovodpp/device/kernels/batch.ptx from batch.cu, or checks that it is up to date.

    scripts/make_ptx.py            # needs nvcc
    scripts/make_ptx.py --check

The file contains the hash of its sources. It supports the oldest supported driver and GPU: CUDA
11.2, which accepts PTX 7.2, and compute capability 7.5. --check fails if the sources have changed
since, or if ptxas, if installed, rejects the file.
"""

import argparse
import hashlib
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "horovodpp/device/kernels"
PTX = FOLDER / "batch.ptx"
SOURCES = ["arguments.h", "batch.cu", "bodies.h", "elements.h", "names.h"]
VERSION = "7.2"
OPTIONS = ["-std=c++20", "-O3", "-fmad=false", f"-I{ROOT}"]


def tool(name):
    return shutil.which(name) or shutil.which(name, path="/usr/local/cuda/bin")


def first_line():
    sources = b"".join((FOLDER / name).read_bytes() for name in SOURCES)
    return f"// Made by scripts/make_ptx.py of {hashlib.sha256(sources).hexdigest()}\n"


def made():
    """The PTX, without the parts that differ between versions of nvcc and have no meaning."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "batch.ptx"
        subprocess.run([tool("nvcc"), *OPTIONS, "-arch=compute_75", "-ptx", "-o", out,
                        FOLDER / "batch.cu"], check=True)
        text = out.read_text()
    lines = [line.split("//")[0].strip() for line in text.splitlines()]
    text = "\n".join(line for line in lines if line) + "\n"
    text = re.sub(r"^(\S+)\s+", r"\1 ", text, flags=re.MULTILINE)
    return re.sub(r"^\.version .*$", f".version {VERSION}", text, flags=re.MULTILINE)


def check():
    if not PTX.read_text().startswith(first_line()):
        return f"{PTX} is not of these sources: run scripts/make_ptx.py"
    if tool("ptxas") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        for gpu in ("sm_75", "sm_90"):
            result = subprocess.run(
                [tool("ptxas"), f"-arch={gpu}", "-O0", "-o", f"{folder}/out", PTX],
                capture_output=True, text=True)
            if result.returncode != 0:
                return f"ptxas -arch={gpu}: {result.stderr}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    if parser.parse_args().check:
        return check()
    if tool("nvcc") is None:
        return "there is no nvcc: it comes with the CUDA toolkit"
    PTX.write_text(first_line() + made())
    return None


if __name__ == "__main__":
    sys.exit(main())
