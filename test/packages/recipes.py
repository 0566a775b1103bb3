# SPDX-License-Identifier: Apache-2.0
"""Holds the recipes of packaging/ to the build, which most of their tools are not here to do.

    recipes.py <root>
"""

import ast
import json
import pathlib
import re
import sys

# The names of each required library in the package managers, by its name in the build.
REQUIRED = {
    "absl": {"conan": "abseil/", "spack": "abseil-cpp@", "vcpkg": "abseil"},
    "spdlog": {"conan": "spdlog/", "spack": "spdlog@", "vcpkg": "spdlog"},
    "hwy": {"conan": "highway/", "spack": "highway@", "vcpkg": "highway"},
    "nlohmann_json": {"conan": "nlohmann_json/", "spack": "nlohmann-json@",
                      "vcpkg": "nlohmann-json"},
    "BLAS": {"conan": "openblas/", "spack": "openblas@", "vcpkg": "openblas"},
    "ZLIB": {"conan": "zlib/", "spack": "zlib-api", "vcpkg": "zlib"},
    "Sodium": {"conan": "libsodium/", "spack": "libsodium@", "vcpkg": "libsodium"},
    "yaml-cpp": {"conan": "yaml-cpp/", "spack": "yaml-cpp@", "vcpkg": "yaml-cpp"},
}
OF_CMAKE = {"BUILD_SHARED_LIBS"}
NOT_LIBRARIES = {"Threads", "CblasHeader"}


def recipes(root):
    folder = root / "packaging"
    files = {"conan": ["conan/conanfile.py"], "spack": ["spack/package.py"],
             "vcpkg": ["vcpkg/vcpkg.json", "vcpkg/portfile.cmake"],
             "bazel": ["bazel/MODULE.bazel", "bazel/BUILD.bazel"]}
    return {kind: "\n".join((folder / name).read_text() for name in names)
            for kind, names in files.items()}


def mistakes(root):
    build = (root / "CMakeLists.txt").read_text()
    version = re.search(r"project\(horovodpp VERSION ([0-9.]+)", build)[1]
    options = set(re.findall(r"^option\((\w+)", build, re.MULTILINE)) | OF_CMAKE
    texts = recipes(root)
    needed = {name for source in (build, (root / "horovodrun/CMakeLists.txt").read_text())
              for name in re.findall(r"^find_package\(([\w-]+) REQUIRED|^find_package\(([\w-]+) [^)]*"
                                     r"REQUIRED", source, re.MULTILINE) for name in name if name}
    for name in sorted(needed - NOT_LIBRARIES - set(REQUIRED)):
        yield f"the build needs {name}: say in REQUIRED what the recipes call it"
    for kind, text in texts.items():
        for name in sorted(set(re.findall(r"\bHVD_\w+", text)) - options):
            yield f"{kind} sets {name}, which is no option of the build"
        if kind != "conan" and f'"{version}"' not in text:  # Conan's reads it.
            yield f"{kind} is not of version {version}"
        for name, calls in REQUIRED.items():
            if kind in calls and f'"{calls[kind]}' not in text:
                yield f"{kind} does not depend on {name}"
    for kind, name in (("conan", "conan/conanfile.py"), ("spack", "spack/package.py"),
                       ("bazel", "bazel/MODULE.bazel"), ("bazel", "bazel/BUILD.bazel")):
        ast.parse((root / "packaging" / name).read_text(), name)  # Starlark is Python here.
    yield from mistakes_of_vcpkg(root)
    for kind, path in listed_paths(texts):
        if not list(root.glob(path)):
            yield f"{kind} lists {path}, which does not exist"
    libraries = (root / "horovodpp/CMakeLists.txt").read_text()
    for name in sorted(set(re.findall(r'"lib(\w+)\.so', texts["bazel"]))):
        if not re.search(rf"(_library\(|OUTPUT_NAME ){name}\b", libraries):
            yield f"bazel names lib{name}.so, which the build does not make"
    soversion = ".".join(version.split(".")[:2])
    if f"libhorovodpp.so.{soversion}" not in texts["bazel"]:
        yield f"bazel does not name libhorovodpp.so.{soversion}"


def mistakes_of_vcpkg(root):
    features = set(json.loads((root / "packaging/vcpkg/vcpkg.json").read_text())["features"])
    port = (root / "packaging/vcpkg/portfile.cmake").read_text()
    switched = set(re.findall(r"(\w+) HVD_WITH_\w+", port))
    for name in sorted(features ^ switched):
        yield f"vcpkg has the feature {name} in only one of vcpkg.json and portfile.cmake"


def listed_paths(texts):
    """(recipe, path or pattern) of the project's files that the recipes name."""
    conan = re.search(r"SOURCES = \(([^)]*)\)", texts["conan"])[1]
    bazel = re.search(r"glob\(\s*\[([^]]*)\]", texts["bazel"])[1]
    for kind, text in (("conan", conan), ("bazel", bazel)):
        yield from ((kind, path) for path in re.findall(r'"([^"]+)"', text))
    yield from (("vcpkg", path) for path in re.findall(r'"\$\{SOURCE_PATH\}/([^"]+)"',
                                                      texts["vcpkg"]))


def main():
    found = list(mistakes(pathlib.Path(sys.argv[1])))
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
