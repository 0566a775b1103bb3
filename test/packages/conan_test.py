# SPDX-License-Identifier: Apache-2.0
"""Builds the Conan recipe without a remote, and compiles and runs a program with the package.

    conan_test.py ROOT FOLDER

The system's libraries take the places of Conan's packages, by their lowest versions in the recipe.
All files lie in FOLDER, also Conan, which comes from PyPI. Compiles with -O0. Exits with 77,
which ctest counts as skipped, where pip cannot install Conan.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

SKIPPED = 77
PROGRAM = """
#include <horovodpp/horovodpp.h>
int main() {
  hvd::throw_if_error(hvd::init());
  const hvd::Tensor sum = hvd::allreduce(hvd::ones({4}), {.op = hvd::ReduceOp::kSum});
  return sum.sum().item<float>() == 4.0f * hvd::size() ? 0 : 1;
}
"""
LISTS = """
cmake_minimum_required(VERSION 3.25)
project(consumer CXX)
find_package(horovodpp REQUIRED)
add_executable(consumer main.cc)
target_link_libraries(consumer horovodpp::horovodpp)
"""


def conan_in(folder):
    """Conan's path, or None."""
    conan = folder / "venv" / "bin" / "conan"
    if not conan.exists():
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
        if subprocess.run([folder / "venv/bin/pip", "install", "--quiet", "conan>=2,<3"],
                          check=False).returncode != 0:
            return None
    return conan


def profile_of(recipe, detected):
    """The detected profile, with the system's libraries and no optimization."""
    required = re.findall(r'requires\("([\w-]+)/\[>=([0-9.]+)', recipe)
    assert len(required) > 5, required
    settings = re.sub(r"(?m)^compiler.cppstd=.*$", "compiler.cppstd=20", detected)
    return (settings + "\n[platform_requires]\n" +
            "".join(f"{name}/{version}\n" for name, version in required) +
            "[conf]\ntools.cmake.cmaketoolchain:generator=Ninja\n"
            'tools.cmake.cmaketoolchain:extra_variables={"CMAKE_CXX_FLAGS_RELEASE": "-O0"}\n')


def make_package(conan, root, folder):
    """Returns the folder of the package."""
    environment = dict(os.environ, CONAN_HOME=str(folder / "home"))

    def run(*command, **options):
        return subprocess.run([conan, *command], check=True, env=environment, text=True, **options)

    run("profile", "detect", "--force")
    detected = (folder / "home/profiles/default").read_text()
    profile = folder / "profile"
    profile.write_text(profile_of((root / "packaging/conan/conanfile.py").read_text(), detected))
    made = run("create", root / "packaging/conan", "--no-remote", "--profile:all", profile,
               "--format=json", stdout=subprocess.PIPE).stdout
    nodes = json.loads(made)["graph"]["nodes"].values()
    package, = (node["package_folder"] for node in nodes
                if (node.get("ref") or "").startswith("horovodpp/") and node["package_folder"])
    return pathlib.Path(package)


def use(package, folder):
    """Compiles a program with the package alone, and runs it in two ranks."""
    source = folder / "consumer"
    shutil.rmtree(source, ignore_errors=True)
    source.mkdir()
    (source / "main.cc").write_text(PROGRAM)
    (source / "CMakeLists.txt").write_text(LISTS)
    subprocess.run(["cmake", "-G", "Ninja", "-S", source, "-B", source / "build",
                    f"-DCMAKE_PREFIX_PATH={package}"], check=True)
    subprocess.run(["cmake", "--build", source / "build"], check=True)
    subprocess.run([package / "bin/horovodrun", "--no-mpi", "-np", "2", source / "build/consumer"],
                   check=True)
    for paper in ("LICENSE", "NOTICE", "THIRD_PARTY.md"):
        assert (package / "licenses" / paper).exists(), paper


def main():
    root, folder = map(pathlib.Path, sys.argv[1:])
    folder.mkdir(parents=True, exist_ok=True)
    conan = conan_in(folder)
    if conan is None:
        print("SKIPPED: pip could not install Conan")
        return SKIPPED
    use(make_package(conan, root.resolve(), folder.resolve()), folder.resolve())
    return 0


if __name__ == "__main__":
    sys.exit(main())
