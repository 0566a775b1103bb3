# SPDX-License-Identifier: Apache-2.0
"""Tests the pip package of the project, in its own virtual environment:

    python test/bindings/package_check.py FOLDER

Builds a wheel as those of a release, installs it, trains as in the README, and uninstalls. The
environment lies in FOLDER, and uses torch and the build requirements of the Python that runs this
script. Exits with 77, which ctest
counts as skipped, if that Python lacks any of these packages.
"""
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import venv

TESTS = pathlib.Path(__file__).resolve().parent
ROOT = TESTS.parents[1]
sys.path.insert(0, str(ROOT / "scripts"))
import build_wheels  # noqa: E402
SKIPPED = 77
# Libraries of every system, and MPI, which is the machine's own. The package brings all
# others.
OF_THE_SYSTEM = re.compile(r"ld-|linux-vdso|lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+)\.so|libmpi|"
                           r"libopen-|libpmix|libhwloc|libevent|libz\.|libudev|libcap|libgcrypt|"
                           r"libgpg-error|libmunge|libucp|libuc|libpsm|libfabric|libibverbs|libnl")


def check_dependencies():
    missing = [module for module in
               ("torch", "nanobind", "scikit_build_core", "pip", "auditwheel")
               if importlib.util.find_spec(module) is None]
    if missing:
        print(f"SKIPPED: {sys.executable} has no {', '.join(missing)}: "
              "scripts/install_dependencies.sh test")
        sys.exit(SKIPPED)


def files_of(folder):
    return {path.relative_to(folder) for path in folder.rglob("*")
            if path.is_file() and "__pycache__" not in path.parts}


def example_of_the_readme():
    section = (ROOT / "README.md").read_text().split("## With PyTorch", 1)[1]
    return re.search(r"```python\n(.*?)```", section, re.DOTALL).group(1)


def linked_by(program):
    """(name, path) of each shared library that the program loads at start."""
    listed = subprocess.run(["ldd", program], check=True, stdout=subprocess.PIPE, text=True)
    for line in listed.stdout.splitlines():
        words = line.split()
        yield pathlib.Path(words[0]).name, words[2] if "=>" in words else words[0]


def check_linked_libraries(folder, package):
    for program in (*package.glob("_core*.so"), folder / "bin" / "horovodrun"):
        elsewhere = [name for name, path in linked_by(program)
                     if not OF_THE_SYSTEM.match(name) and
                     not os.path.realpath(path).startswith(str(package.parent))]
        assert not elsewhere, f"{program} needs {elsewhere}, which the package does not carry"


def check_licences(package):
    """Checks the license of each library in the package."""
    texts = "".join(path.read_text() for path in
                    package.parent.glob("horovodpp-*.dist-info/**/*LICENSE*"))
    libraries = [*package.parent.glob("horovodpp.libs/lib*.so*")]
    assert libraries
    for library in libraries:
        name = re.match(r"lib([a-z]+)", library.name).group(1)
        named = {"absl": "Abseil", "hwy": "Highway"}.get(name, name)
        assert named in texts, f"the package carries {library.name} without its licence"


def check_late_loading(folder, run):
    eater = folder / "tls_eater.so"
    compiler = os.environ.get("CC", "cc")
    run(compiler, "-shared", "-fPIC", "-o", str(eater), str(TESTS / "tls_eater.c"))
    run("python", str(TESTS / "late_loading.py"), str(eater), stdout=subprocess.DEVNULL)
    eater.unlink()


def main():
    check_dependencies()
    folder = pathlib.Path(sys.argv[1]).resolve()
    venv.create(folder, clear=True, with_pip=False)
    packages = next(folder.glob("lib/python*/site-packages"))
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment.update(PATH=f"{folder / 'bin'}{os.pathsep}{environment['PATH']}",
                       OMP_NUM_THREADS="1", PIP_DISABLE_PIP_VERSION_CHECK="1")

    def run(*command, **options):
        return subprocess.run(command, check=True, env=environment, cwd=folder, text=True,
                              **options)

    before = files_of(folder)
    # The GPU kernels are built as PTX, as without nvcc, which saves half a minute. Compiling
    # without optimization takes less than half the time.
    builder = pathlib.Path(sys.executable)
    wheel = build_wheels.repair(builder, build_wheels.build(
        builder, folder / "raw", ["HVD_WITH_NVCC=OFF", "CMAKE_CXX_FLAGS_RELEASE=-O0"]), folder)
    run("python", "-m", "pip", "install", "--quiet", "--no-deps", str(wheel))
    wheel.unlink()
    shutil.rmtree(folder / "raw")
    check_linked_libraries(folder, packages / "horovodpp")
    check_licences(packages / "horovodpp")
    run("python", "-c", "import horovodpp; horovodpp.init(); assert horovodpp.size() == 1")
    run("python", "-c", "import torch, sys; assert 'horovodpp' in torch.distributed.Backend."
        "backend_list and 'horovodpp' not in sys.modules")
    check_late_loading(folder, run)
    (folder / "train.py").write_text(example_of_the_readme())
    printed = run("horovodrun", "-np", "2", "python", "train.py", stdout=subprocess.PIPE).stdout
    losses = [float(number) for number in re.findall(r"loss ([\d.]+)", printed)]
    assert len(losses) > 1 and losses[-1] < losses[0], printed
    (folder / "train.py").unlink()
    run("python", "-m", "pip", "uninstall", "--quiet", "--yes", "horovodpp")
    left = files_of(folder) - before
    assert not left, f"uninstalling leaves {sorted(map(str, left))}"
    shutil.rmtree(folder)
    print("it installs, trains, and leaves nothing")


if __name__ == "__main__":
    main()
