# SPDX-License-Identifier: Apache-2.0
"""MkDocs' hooks for the parts of the site beyond docs/*.md: see mkdocs.yml.

The site also has the README (its first page), the other pages of the root, the READMEs of the
examples, and the API reference. Each linked source file has a page. Links are written for the
repository, and converted here for the site; a link to a missing file is an error.
"""

import pathlib
import posixpath
import re
import sys

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(pathlib.Path(__file__).parent))

import api_pages  # noqa: E402

PAPERS = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "THIRD_PARTY.md")
FENCE = re.compile(r"^(```.*?^```$)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(\]\()([^)\s#]*)(#[^)\s]*)?(\))")
FILE_AS_TEXT = re.compile(r"\[([\w./]+\.md)\]\(([^)\s#]*\1)(?=[#)])")
LIST = re.compile(r"^(?![-|#>\s]|\d+\. )(.+)\n(- |1\. )", re.MULTILINE)
LANGUAGES = {".cc": "cpp", ".h": "cpp", ".c": "c", ".py": "python", ".sh": "sh",
             ".cmake": "cmake", ".json": "json", ".yml": "yaml", ".toml": "toml"}

site_of = {}  # The path in the site of each file of the repository.
file_of = {}  # The inverse.


def place(file, there):
    site_of[file], file_of[there] = there, file


def links(text):
    """The targets in the repository that a page links to, without those in code."""
    for part in FENCE.split(text)[::2]:
        for found in LINK.finditer(part):
            if found[2] and not re.match(r"[a-z]+:", found[2]):
                yield found[2]


def target_of(page, link):
    """The file of the repository that `link` of the page leads to."""
    target = posixpath.normpath(posixpath.join(posixpath.dirname(page), link))
    if (ROOT / target).is_dir() and (ROOT / target / "README.md").exists():
        target += "/README.md"
    if target.startswith("..") or not (ROOT / target).is_file():
        raise PluginError(f"{page} links to {link}, which does not exist")
    return target


def rewritten(page, text):
    """The page with links to the targets' places in the site."""
    here = posixpath.dirname(site_of[page])

    def link(found):
        if not found[2] or re.match(r"[a-z]+:", found[2]):
            return found[0]
        there = posixpath.relpath(site_of[target_of(page, found[2])], here or ".")
        return found[1] + there + (found[3] or "") + found[4]

    def titled(found):
        return f"[{title_of(target_of(page, found[2]))}]({found[2]}"

    parts = FENCE.split(text)
    parts[::2] = [LINK.sub(link, FILE_AS_TEXT.sub(titled, part)) for part in parts[::2]]
    return "".join(parts)


def title_of(file):
    return re.search(r"^# (.+)$", (ROOT / file).read_text(), re.MULTILINE)[1]


def lists_apart(text):
    """The page with an empty line before each list, which Markdown elsewhere does not need."""
    parts = FENCE.split(text)
    parts[::2] = [LIST.sub(r"\1\n\n\2", part) for part in parts[::2]]
    return "".join(parts)


def source_page(file):
    text = (ROOT / file).read_text()
    ticks = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    language = LANGUAGES.get(pathlib.Path(file).suffix, "text")
    return f"# {file}\n\n{ticks}{language}\n{text.rstrip()}\n{ticks}\n"


def index_of_api(pages):
    out = ["# API reference", "",
           "For C++ programmers: the headers that a program may include, with their contracts and "
           "declarations. Most programs include `horovodpp/horovodpp.h`, or "
           "`horovodpp/collectives.h`, which has no tensors.", ""]
    folder = None
    for page in pages:
        if posixpath.dirname(page.header) != folder:
            folder = posixpath.dirname(page.header)
            out += ["", f"## {folder}", "", "| header | contents |", "|---|---|"]
        link = posixpath.relpath(site_of[page.header], "api")
        out.append(f"| [{posixpath.basename(page.header)}]({link}) | "
                   f"{page.summary.replace('|', chr(92) + '|')} |")
    out += ["", "[All names](names.md)", ""]
    return "\n".join(out)


def index_of_names(pages):
    names = sorted(((name.removeprefix("hvd::"), page.header, there) for page in pages
                    for name, there in page.anchors.items()), key=lambda row: row[0].lower())
    rows = [f"| [`{name}`]({posixpath.relpath(site_of[header], 'api')}#{there}) | {header} |"
            for name, header, there in names if "operator" not in name]
    return "\n".join(["# All names", "", "Without `hvd::`.", "", "| name | header |", "|---|---|",
                      *rows, ""])


def place_all(pages):
    """Assigns every linkable file its place in the site."""
    for page in pages:
        place(page.header, "api/" + page.header.removeprefix("horovodpp/")[:-2] + ".md")
    place("README.md", "index.md")
    docs = ROOT / "docs"
    for file in sorted(docs.rglob("*.*")):
        there = file.relative_to(docs).as_posix()
        place(f"docs/{there}", there)
    for paper in PAPERS:
        if (ROOT / paper).exists():
            place(paper, paper.lower())
    for file in sorted(ROOT.glob("examples/*/README.md")):
        place(f"examples/{file.parent.name}/README.md", f"examples/{file.parent.name}.md")
    for page in [file for file in site_of if file.endswith(".md")]:
        for link in links((ROOT / page).read_text()):
            target = target_of(page, link)
            if target not in site_of:
                place(target, f"source/{target}.md")


def on_files(files, config):
    pages = sorted(api_pages.api_pages(ROOT), key=lambda page: (page.header.count("/") > 1,
                                                                page.header))
    place_all(pages)
    texts = {"api/index.md": index_of_api(pages), "api/names.md": index_of_names(pages)}
    texts.update({site_of[page.header]: page.text for page in pages})
    for file, there in site_of.items():
        if there.startswith("source/"):
            texts[there] = source_page(file)
        elif there not in texts and not file.startswith("docs/"):
            texts[there] = (ROOT / file).read_text()
    texts["site.css"] = (pathlib.Path(__file__).parent / "site.css").read_text()
    for there, text in texts.items():
        files.append(File.generated(config, there, content=text))
    return files


def on_page_markdown(markdown, page, config, files):
    file = file_of.get(page.file.src_uri, "")
    if page.file.src_uri.startswith("source/"):
        return markdown
    return lists_apart(rewritten(file, markdown) if file.endswith(".md") else markdown)
