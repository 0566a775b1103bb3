"""Holds every #include of horovodpp/ to the layers of horovodpp/CMakeLists.txt.

    layers.py <root of the repository>

A folder is a layer. Its files may include their own folder, the folders that
its line `hvd_layer(<name> MAY_INCLUDE <layer>...)` grants, and foreign headers
that are not on the leash of another folder. Prints each violation as
file:line, and fails if there is one.
"""

import pathlib
import re
import sys

# Headers (by how their name begins or is) and the only files that may include
# them, relative to horovodpp/.
LEASHES = [
    (r"mpi\.h|mpi/.*", r"(transport|collective)/mpi_[^/]*"),
    (r"nccl.*\.h", r"collective/nccl_[^/]*"),
    (r"(cuda|cudnn|cublas|curand|nvml|nvrtc).*", r"(device/cuda_|collective/nccl_|kernel/cuda_)[^/]*"),
    (r"(.*/)?(cblas|openblas_config)\.h", r"kernel/[^/]*"),
    (r"nlohmann/.*", r"nn/safetensors_header\.cc"),
    (r"(oneapi/dnnl/)?dnnl.*", r"kernel/dnnl_[^/]*"),
    (r"nanobind/.*|Python\.h", r"(?!)"),
    (r"(torch|ATen|c10)/.*", r"libtorch/[^/]*"),
]
GETENV_FILES = r"runtime/config[^/]*"

INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
GETENV = re.compile(r"\b(secure_)?getenv\b")
LAYER = re.compile(r"^\s*hvd_layer\(([^)]*)\)", re.MULTILINE)
SUFFIXES = {".h", ".cc", ".cu", ".cuh"}


def granted_layers(cmake_text):
    """{layer: the layers it may include}, from the hvd_layer(...) lines."""
    granted = {}
    for call in LAYER.finditer(cmake_text):
        name, *words = call.group(1).split()
        if "MAY_INCLUDE" not in words:
            granted[name] = set()
            continue
        words = words[words.index("MAY_INCLUDE") + 1 :]
        end = next((i for i, word in enumerate(words) if word.isupper()), len(words))
        granted[name] = set(words[:end])
    return granted


def cycle_in(granted):
    """A layer that may include itself by way of others, or None."""
    for start in granted:
        seen, todo = set(), list(granted[start])
        while todo:
            layer = todo.pop()
            if layer == start:
                return start
            if layer not in seen:
                seen.add(layer)
                todo.extend(granted.get(layer, ()))
    return None


def violations_in_line(path, line, granted):
    """What is wrong with one line of the file `path`, relative to horovodpp/."""
    code = line.split("//")[0]
    if GETENV.search(code) and not re.fullmatch(GETENV_FILES, path):
        yield "reads the environment; that is runtime/config's alone"
    match = INCLUDE.match(line)
    if not match:
        return
    quote, header = match.groups()
    for pattern, files in LEASHES:
        if re.fullmatch(pattern, header) and not re.fullmatch(files, path):
            yield f"includes {header}, which is kept out of here"
    if quote == '"' and not header.startswith(("horovodpp/", "absl/", "spdlog/")):
        yield f'includes "{header}"; headers of ours are named "horovodpp/<layer>/..."'
    if not header.startswith("horovodpp/") or "/" not in path:
        return  # Foreign, or a header for users, which may include anything.
    layer, target = path.split("/")[0], header.split("/")[1]
    if target != layer and target not in granted.get(layer, ()):
        yield f"includes {header}, but layer '{layer}' may not include '{target}'"


def violations(root):
    """Every violation in the repository at `root`, as printable lines."""
    library = pathlib.Path(root) / "horovodpp"
    granted = granted_layers((library / "CMakeLists.txt").read_text())
    if not granted:
        yield "horovodpp/CMakeLists.txt: names no layer"
    cyclic = cycle_in(granted)
    if cyclic:
        yield f"horovodpp/CMakeLists.txt: layer '{cyclic}' may include itself through others"
    for file in sorted(library.rglob("*")):
        path = file.relative_to(library).as_posix()
        if file.suffix not in SUFFIXES:
            continue
        if path.count("/") > 1:
            yield f"horovodpp/{path}: a layer is one folder deep"
        if "/" in path and path.split("/")[0] not in granted:
            yield f"horovodpp/{path}: its folder has no hvd_layer(...) line"
        for number, line in enumerate(file.read_text().splitlines(), 1):
            for wrong in violations_in_line(path, line, granted):
                yield f"horovodpp/{path}:{number}: {wrong}"


def main():
    found = list(violations(sys.argv[1]))
    print("\n".join(found) or "every #include is within its layer")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
