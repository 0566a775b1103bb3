# SPDX-License-Identifier: Apache-2.0
"""Checks every #include of horovodpp/ against the layers of horovodpp/CMakeLists.txt.

    layers.py <root of the repository>

A folder is a layer, or a room of one: `collective`, `collective/shm`. Its files
may include their own folder, the folders that its line `hvd_layer(<folder> MAY_INCLUDE
<folder>...)` grants, and foreign headers that are not reserved for another folder. A layer and its
rooms grant each other by name, like other folders.

A module is all files of a folder that share a stem: a header and its sources.
Modules of a folder may not include each other in a cycle.

A folder holds at most 25 sources; here the launcher's folders and the bindings' count, too.

Prints each violation as file:line, and fails if any exist.
"""

import collections
import pathlib
import re
import sys

# Headers (by name or prefix) and the only files that may include them, relative
# to horovodpp/.
LEASHES = [
    (r"mpi\.h|mpi/.*", r"transport/mpi/[^/]*"),
    (r"uc[pst]/.*", r"transport/ucx/[^/]*"),
    (r"nccl.*", r"(?!)"),
    (r"(cuda|cudnn|cublas|curand|nvml|nvrtc).*", r"device/kernels/elements\.h"),
    (r"(.*/)?(cblas|openblas_config)\.h", r"kernel/products/[^/]*"),
    (r"nlohmann/.*", r"(nn/safetensors_header|nn/decoder/rotary_config|data/tokenizer/tokenizer_json)\.cc"),
    (r"(oneapi/dnnl/)?dnnl.*", r"kernel/products/dnnl_[^/]*"),
    (r"png\.h", r"data/images/png_[^/]*"),
    (r"j(peglib|error)\.h", r"data/images/jpeg_[^/]*"),
    (r"nanobind/.*|Python\.h", r"(?!)"),
    (r"(torch|ATen|c10)/.*", r"libtorch/.*"),
]
MOST_SOURCES = 25
GETENV_FILES = r"runtime/settings/config[^/]*"

INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
GETENV = re.compile(r"\b(secure_)?getenv\b")
LAYER = re.compile(r"^\s*hvd_layer\(([^)]*)\)", re.MULTILINE)
SUFFIXES = {".h", ".cc", ".cu", ".cuh"}


def granted_folders(cmake_text):
    """{folder: the folders it may include}, from the hvd_layer(...) lines.

    `core/*` grants core and all its rooms.
    """
    granted = {}
    for call in LAYER.finditer(cmake_text):
        name, *words = call.group(1).split()
        if "MAY_INCLUDE" not in words:
            granted[name] = set()
            continue
        words = words[words.index("MAY_INCLUDE") + 1 :]
        end = next((i for i, word in enumerate(words) if word.isupper()), len(words))
        granted[name] = set(words[:end])
    return {name: with_rooms(folders, granted) - {name} for name, folders in granted.items()}


def with_rooms(folders, all_folders):
    """`folders`, where `<layer>/*` has become the layer and its rooms."""
    named = {folder for folder in folders if not folder.endswith("/*")}
    layers = [folder.removesuffix("/*") for folder in folders - named]
    rooms = {f for f in all_folders for layer in layers if f.startswith(layer + "/")}
    return named | set(layers) | rooms


def shortest_cycle(graph, start):
    """[start, ..., start] along the edges of `graph`, or None."""
    came_from, todo = {}, [start]
    for here in todo:
        for there in sorted(graph.get(here, ())):
            if there not in came_from:
                came_from[there] = here
                todo.append(there)
    if start not in came_from:
        return None
    path = [start, came_from[start]]
    while path[-1] != start:
        path.append(came_from[path[-1]])
    return path[::-1]


def cycle_in(graph):
    """The shortest cycle of `graph`, {vertex: vertices}, or None."""
    cycles = (shortest_cycle(graph, start) for start in sorted(graph))
    return min(filter(None, cycles), key=len, default=None)


def folder_of(path):
    return path.rpartition("/")[0]


def includes_of_modules(sources):
    """{folder: {stem: {stem: (file, header)}}}: the includes within each folder.

    `sources` is {path: text}, relative to horovodpp/.
    """
    graphs = {}
    for path, text in sources.items():
        folder, stem = folder_of(path), pathlib.PurePath(path).stem
        for line in text.splitlines():
            match = INCLUDE.match(line)
            header = match.group(2).removeprefix("horovodpp/") if match else ""
            if header in sources and folder_of(header) == folder:
                other = pathlib.PurePath(header).stem
                if other != stem:
                    modules = graphs.setdefault(folder, {}).setdefault(stem, {})
                    modules.setdefault(other, (path, header))
    return graphs


def cycles_of_modules(sources):
    """A line to print for each folder with a cycle: its shortest one."""
    for folder, graph in sorted(includes_of_modules(sources).items()):
        cycle = cycle_in(graph)
        if cycle is None:
            continue
        knotted = [module for module in graph if shortest_cycle(graph, module)]
        steps = (graph[here][there] for here, there in zip(cycle, cycle[1:]))
        names = (" includes ".join(pathlib.PurePath(p).name for p in step) for step in steps)
        yield (
            f"horovodpp/{folder}: {len(knotted)} modules include each other; "
            f"the shortest cycle: {', '.join(names)}"
        )


def violations_in_line(path, line, granted):
    """The violations in one line of the file `path`, relative to horovodpp/."""
    code = line.split("//")[0]
    if GETENV.search(code) and not re.fullmatch(GETENV_FILES, path):
        yield "reads the environment; that is runtime/settings/config's alone"
    match = INCLUDE.match(line)
    if not match:
        return
    quote, header = match.groups()
    for pattern, files in LEASHES:
        if re.fullmatch(pattern, header) and not re.fullmatch(files, path):
            yield f"includes {header}, which is kept out of here"
    if quote == '"' and not header.startswith(("horovodpp/", "absl/", "spdlog/")):
        yield f'includes "{header}"; headers of ours are named "horovodpp/<folder>/..."'
    if not header.startswith("horovodpp/") or "/" not in path:
        return  # Foreign, or a header for users, which may include anything.
    folder, target = folder_of(path), folder_of(header.removeprefix("horovodpp/"))
    if target != folder and target not in granted.get(folder, ()):
        yield f"includes {header}, but '{folder}' may not include '{target or 'horovodpp'}'"


def violations_of_grants(granted):
    """The violations in the lines hvd_layer(...) themselves."""
    if not granted:
        yield "names no layer"
    for folder, others in sorted(granted.items()):
        if folder.count("/") > 1:
            yield f"'{folder}' is more than two folders deep"
        for other in sorted(others - set(granted)):
            yield f"'{folder}' may include '{other}', which has no line of its own"
    cycle = cycle_in(granted)
    if cycle:
        yield f"layers may include each other: {', which may include '.join(cycle)}"


def full_folders(root):
    """A line to print for each folder with more than MOST_SOURCES sources."""
    for top in ("horovodpp", "horovodrun", "bindings/src"):
        held = collections.Counter(file.parent.relative_to(root).as_posix()
                                   for file in (pathlib.Path(root) / top).rglob("*")
                                   if file.suffix in SUFFIXES)
        for folder, sources in sorted(held.items()):
            if sources > MOST_SOURCES:
                yield f"{folder}: holds {sources} sources; split it, {MOST_SOURCES} are the most"


def sources_of(root):
    """{path relative to horovodpp/: text} of the repository at `root`."""
    library = pathlib.Path(root) / "horovodpp"
    files = sorted(file for file in library.rglob("*") if file.suffix in SUFFIXES)
    return {file.relative_to(library).as_posix(): file.read_text() for file in files}


def violations(root):
    """Every violation in the repository at `root`, as printable lines."""
    granted = granted_folders((pathlib.Path(root) / "horovodpp/CMakeLists.txt").read_text())
    for wrong in violations_of_grants(granted):
        yield f"horovodpp/CMakeLists.txt: {wrong}"
    sources = sources_of(root)
    for path, text in sources.items():
        if "/" in path and folder_of(path) not in granted:
            yield f"horovodpp/{path}: its folder has no hvd_layer(...) line"
        for number, line in enumerate(text.splitlines(), 1):
            for wrong in violations_in_line(path, line, granted):
                yield f"horovodpp/{path}:{number}: {wrong}"
    yield from cycles_of_modules(sources)
    yield from full_folders(root)


def main():
    found = list(violations(sys.argv[1]))
    print("\n".join(found) or "every #include is within its layer")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
