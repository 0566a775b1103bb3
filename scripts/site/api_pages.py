# SPDX-License-Identifier: Apache-2.0
"""The API reference: a page for each public header, as Markdown.

Doxygen finds a header's declarations, their lines, and the public ones. The text is the header's
own: comments as prose and declarations as code, without bodies and private parts.
"""

import collections
import dataclasses
import pathlib
import re
import subprocess
import tempfile
import xml.etree.ElementTree as ElementTree

DOXYFILE = """
INPUT = {headers}
OUTPUT_DIRECTORY = {output}
GENERATE_XML = YES
GENERATE_HTML = NO
GENERATE_LATEX = NO
XML_PROGRAMLISTING = NO
EXTRACT_ALL = YES
EXTRACT_PRIVATE = YES
HAVE_DOT = NO
INCLUDE_GRAPH = NO
INCLUDED_BY_GRAPH = NO
MACRO_EXPANSION = YES
EXPAND_ONLY_PREDEF = YES
PREDEFINED = HVD_EXPORT= HVD_C_API=
STRIP_FROM_PATH = {root}
QUIET = YES
WARNINGS = NO
"""
# Internals of the library, or of the preprocessor, which no program would use.
NOT_SHOWN = re.compile(r"::(internal|detail)\b|^(internal|detail)\b")
# A line of a contract: "  InvalidArgument  why".
ERRORS = re.compile(r"\s*(\(?[\w:]+\)?( \(\w+\))?(, \w+)*)\s{2,}\S")
NO_DECLARATIONS = {"horovodpp/core/export.h", "horovodpp/core/needs_cxx17.h",
                   "horovodpp/core/needs_cxx20.h"}
# Installed because public headers include them; no program includes them itself.
INTERNAL = {f"horovodpp/{name}.h" for name in """
    autograd/graph/graph_ops autograd/graph/graph_state autograd/graph/operation_observer
    autograd/record/captured_tensors checkpoint/budgets/budget_holder checkpoint/recording
    checkpoint/region checkpoint/replay_group core/clip_findings core/thread/lockable
    core/thread/spin_lock kernel/philox libtorch/checkpoint/ambient_state
    libtorch/checkpoint/recomputed_region libtorch/checkpoint/saved_place
    libtorch/checkpoint/saved_tensor_hooks libtorch/checkpoint/tensors_in libtorch/gradient_home
    libtorch/gradient_hook libtorch/parameter_delta libtorch/parameter_gradient
    libtorch/reduced_parameters libtorch/reducer libtorch/tensors libtorch/torch_version
    libtorch/wrapped_optimizer tensor/base/intrusive_ptr tensor/base/thread_state
    tensor/tensor_impl
    """.split()}


def installed_headers(root):
    """The headers that cmake/PublicHeaders.cmake names, and those that they include."""
    named = (root / "cmake" / "PublicHeaders.cmake").read_text()
    waiting = re.findall(r"^\s+(horovodpp/\S+\.h)\b", named, re.MULTILINE)
    found = []
    while waiting:
        header = waiting.pop(0)
        if header in found or not (root / header).exists():
            continue
        found.append(header)
        waiting += re.findall(r'^#include "(horovodpp/[^"]+)"', (root / header).read_text(),
                              re.MULTILINE)
    return [header for header in found if header not in NO_DECLARATIONS]


def public_headers(root):
    """The installed headers that programs include."""
    return [header for header in installed_headers(root) if header not in INTERNAL]


@dataclasses.dataclass
class Declaration:
    name: str  # With its namespace or class.
    kind: str  # Doxygen's: class, struct, function, enum, typedef, variable, define.
    first: int  # Lines of the header, from 1: of its name, or of the class's first line;
    last: int  # and of its body's end, or else of its name.
    members: list = dataclasses.field(default_factory=list)  # Functions with bodies.


def run_doxygen(root, headers):
    """The XML of all compounds."""
    with tempfile.TemporaryDirectory() as output:
        settings = DOXYFILE.format(root=root, output=output,
                                   headers=" ".join(str(root / header) for header in headers))
        subprocess.run(["doxygen", "-"], input=settings, text=True, check=True, cwd=root,
                       stdout=subprocess.DEVNULL)
        for file in sorted(pathlib.Path(output, "xml").glob("*.xml")):
            if file.name not in ("index.xml", "Doxyfile.xml"):
                yield from ElementTree.parse(file).getroot().iter("compounddef")


def declaration(element, name):
    location = element.find("location")
    line = int(location.get("line"))
    last = max(line, int(location.get("bodyend", -1)))
    return location.get("file"), Declaration(name, element.get("kind"), line, last)


def declarations(root, headers):
    """{header: [Declaration]}: the declarations in namespaces, by line."""
    found = collections.defaultdict(list)
    for compound in run_doxygen(root, headers):
        kind, scope = compound.get("kind"), compound.findtext("compoundname")
        if NOT_SHOWN.search(scope):
            continue
        if kind in ("class", "struct"):
            # A nested class is shown by the enclosing one; a declared one has no body.
            header, shown = declaration(compound, scope)
            shown.members = [member for member in compound.iter("memberdef")
                             if member.get("kind") in ("function", "friend")]
            if int(compound.find("location").get("bodyend", -1)) > 0:
                found[header].append(shown)
        elif kind in ("namespace", "file"):
            for member in compound.iter("memberdef"):
                name = member.findtext("name")
                prefix = scope + "::" if kind == "namespace" else ""
                header, shown = declaration(member, prefix + name)
                if name and not name.startswith("@"):
                    found[header].append(shown)
                # Unnamed: its first value identifies it.
                elif member.get("kind") == "enum":
                    shown.name = prefix + member.findtext("enumvalue/name")
                    found[header].append(shown)
    for shown in found.values():
        shown.sort(key=lambda each: (each.first, -each.last))
        around = 0
        for each in list(shown):
            if each.first <= around:
                shown.remove(each)
            else:
                around = each.last
    return found


def without_marks(lines):
    """The text of comment lines, `//` or `/* */`."""
    for line in lines:
        line = re.sub(r"^\s*(//|/\*|\*/|\*)? ?", "", line, count=1)
        yield re.sub(r"\s*\*/$", "", line).rstrip()


def prose(lines):
    """A comment as Markdown; indented lines are code."""
    out, code = [], []

    def end_code():
        while code and not code[-1]:
            code.pop()
        if code:
            indent = min(len(line) - len(line.lstrip()) for line in code if line)
            text = ERRORS.match(code[0]) or not re.search(r"[;{]|^\s*#", "\n".join(code))
            language = "text" if text else "cpp"
            out.extend(["", f"```{language}", *(line[indent:] for line in code), "```", ""])
            code.clear()

    in_list = False
    for line in without_marks(lines):
        if line.startswith("  ") and not in_list or (code and not line):
            code.append(line)
            continue
        end_code()
        in_list = line.startswith("- ") or (in_list and line.startswith(" "))
        out.append(escaped(line))
    end_code()
    return "\n".join(out).strip("\n")


def escaped(line):
    """A line of plain text, escaped except between backticks."""
    parts = re.split(r"(`[^`]*`)", line)
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"([_*\[\]#\\])", r"\\\1", parts[i].replace("<", "&lt;"))
    return "".join(parts)


def comment_above(lines, index):
    """The index of the first line of the comment in front of `lines[index]`."""
    begin = index
    while begin > 0 and re.match(r"\s*(//|/\*|\*)", lines[begin - 1]):
        begin -= 1
    return begin


def is_opening(line):
    """Whether a declaration, whose name comes later, continues in the next line."""
    text = line.split("//")[0].rstrip()
    return bool(text) and not re.search(r"[;{}]$|^\s*#|^\s*/?\*|^\s*(public|private|protected):",
                                        text)


def without_bodies(lines, first, members):
    """Lines from number `first` on, in which each member function ends after its head."""
    text = "\n".join(lines)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    cuts = []
    for member in members:
        location = member.find("location")
        line, end = int(location.get("line")), int(location.get("bodyend", -1))
        if end < line or int(location.get("bodystart")) < first or end >= first + len(lines):
            continue
        at = head_end(text, starts[line - first])
        stop = text.rfind("}", 0, starts[end - first + 1]) + 1
        if at is not None and at < stop:
            cuts.append((at, stop))
    for at, stop in sorted(cuts, reverse=True):
        rest = text[stop:].removeprefix(";")
        text = text[:at].rstrip() + ";" + rest
    return text.split("\n")


def head_end(text, at):
    """The end of the head of the function that begins at `at`: its body or initializers."""
    depth = 0
    while at < len(text):
        character = text[at]
        if character in "([":
            depth += 1
        elif character in ")]":
            depth -= 1
        elif depth == 0 and character == ";":
            return None
        elif depth == 0 and character == "{":
            return at
        elif depth == 0 and character == ":" and ":" not in (text[at - 1], text[at + 1]):
            if not re.search(r"\b(public|protected|private)$", text[:at]):
                return at
        at += 1
    return None


def without_private(lines):
    """Lines of a class without its private sections."""
    out, shown = [], True
    for line in lines:
        access = re.match(r"\s*(public|protected|private):", line)
        if access:
            shown = access[1] != "private"
        if shown or re.match(r"};?", line):
            out.append(line)
    while len(out) > 1 and not out[-2].strip():
        del out[-2]
    return out


def code_of(lines, shown):
    """The declaration as source: [first index, text]."""
    begin, end = shown.first - 1, shown.last - 1
    while begin > 0 and is_opening(lines[begin - 1]):
        begin -= 1
    if shown.kind in ("class", "struct"):
        text = without_bodies(lines[begin:end + 1], begin + 1, shown.members)
        return begin, end, without_private(text)
    if shown.kind == "define":
        while lines[end].endswith("\\"):
            end += 1
        return begin, end, lines[begin:end + 1]
    if shown.kind != "function":
        while not re.search(r"[;}]\s*(//.*)?$", lines[end]):
            end += 1
        return begin, end, lines[begin:end + 1]
    text = "\n".join(lines[begin:])
    at = head_end(text, 0)
    semicolon = re.search(r";[^\n]*", text)
    if at is None or (semicolon and semicolon.start() < at):
        body = text[:semicolon.end()]
    else:
        body = text[:at].rstrip() + ";"
    return begin, max(end, begin + body.count("\n")), body.split("\n")


@dataclasses.dataclass
class Group:
    """Adjacent declarations, with the comment above them."""

    names: list
    comment: list
    code: list
    end: int  # Index of its last line.


def groups(lines, shown_of_header):
    found = []
    for shown in shown_of_header:
        begin, end, code = code_of(lines, shown)
        comment = lines[comment_above(lines, begin):begin]
        small = shown.kind not in ("class", "struct")
        if found and small and not comment and found[-1].end + 1 == begin and found[-1].names:
            found[-1].names.append(shown.name)
            found[-1].code += code
            found[-1].end = end
        else:
            found.append(Group([shown.name], comment, code, end))
    return found


def opening(lines):
    """The first comment of a header, without the license."""
    begin = 1 if lines and "SPDX" in lines[0] else 0
    end = begin
    while end < len(lines) and re.match(r"\s*(//|/\*|\*)", lines[end]):
        end += 1
    return lines[begin:end]


def anchor(name, taken):
    """An id for a heading, unique in its page."""
    base = re.sub(r"\W+", "-", name).strip("-").lower() or "operator"
    found, count = base, 2
    while found in taken:
        found, count = f"{base}-{count}", count + 1
    taken.add(found)
    return found


@dataclasses.dataclass
class Page:
    header: str
    summary: str  # One sentence.
    text: str
    anchors: dict  # {name: anchor}


def page(root, header, shown_of_header):
    lines = (root / header).read_text().split("\n")
    text = prose(opening(lines))
    summary = re.split(r"(?<=[.:])\s", " ".join(text.split("\n\n")[0].split("\n")), maxsplit=1)[0]
    out = [f"# {header}", "", f"```cpp\n#include <{header}>\n```", "", text, ""]
    taken, anchors = set(), {}
    for group in groups(lines, shown_of_header):
        short = list(dict.fromkeys(name.removeprefix("hvd::") for name in group.names))
        there = anchor(short[0], taken)
        for name in group.names:
            anchors.setdefault(name, there)
        out += [f"## {', '.join(f'`{name}`' for name in short)} {{ #{there} }}", "",
                prose(group.comment), "", "```cpp", *dedented(group.code), "```", ""]
    return Page(header, summary.rstrip(":"), "\n".join(out), anchors)


def dedented(lines):
    indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return [line[indent:] for line in lines]


def api_pages(root):
    """A Page for each public header."""
    headers = public_headers(root)
    found = declarations(root, headers)
    return [page(root, header, found.get(header, [])) for header in headers]
