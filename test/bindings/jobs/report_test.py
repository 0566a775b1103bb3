# SPDX-License-Identifier: Apache-2.0
"""`horovodrun report` of a job's timelines, and its page in a browser."""
import html.parser
import json
import os
import re
import shutil
import subprocess
import sys

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

# Rank 1 comes late to every step.
PROGRAM = """
import time, torch, horovodpp.torch as hvd
hvd.init()
layers = [torch.ones(1000 * (1 + layer)) for layer in range(3)]
for step in range(20):
    time.sleep(0.01 + 0.05 * hvd.rank())
    handles = [hvd.allreduce_async_(layer, name=f"layer<{number}>")
               for number, layer in enumerate(layers)]
    for handle in handles:
        hvd.synchronize(handle)
hvd.shutdown()
"""


def report(*words):
    return subprocess.run([os.environ["HOROVODRUN"], "report", *map(str, words)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)


@pytest.fixture(scope="module")
def timelines(tmp_path_factory):
    folder = tmp_path_factory.mktemp("timelines")
    environment = {**os.environ, "HOROVOD_TIMELINE": str(folder / "{rank}.json")}
    job = subprocess.run(
        [os.environ["HOROVODRUN"], "-np", "2", sys.executable, "-c", PROGRAM],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, env=environment)
    assert job.returncode == 0, job.stdout
    return [folder / f"{rank}.json" for rank in range(2)]


@pytest.fixture(scope="module")
def page(timelines):
    path = timelines[0].parent / "report.html"
    done = report("--output", path, *timelines)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return path


def test_it_tells_of_steps_tensors_and_the_slow_rank(timelines):
    text = report(*timelines).stdout
    assert "ranks: 2 in the timelines" in text
    assert re.search(r"Slow: rank 1 is the last at \d+ % of \d+ batches", text), text
    assert re.search(r"allreduce\.layer<2> +20 +12\.0 kB", text), text
    assert re.search(r"(?m)^  SHM +\d+", text), text
    assert "no exposed communication" in text


def test_it_reads_a_rank_alone_and_a_file_without_its_end(timelines, tmp_path):
    assert "ranks: 1 in the timelines" in report(timelines[1]).stdout
    cut = tmp_path / "cut.json"
    cut.write_text(timelines[0].read_text()[:-40])
    text = report(cut, timelines[1]).stdout
    assert "rank 0: the file ends in the middle" in text and "Slow: rank 1" in text


def test_it_names_a_damaged_file_and_the_place(timelines, tmp_path):
    damaged = tmp_path / "damaged.json"
    lines = timelines[0].read_text().splitlines()
    damaged.write_text("\n".join(lines[:10] + ["oh"] + lines[10:]))
    done = report(timelines[1], damaged)
    assert done.returncode == 2 and not done.stdout
    assert re.search(r"damaged\.json: it is no timeline: no JSON at line 11, column 1\n",
                     done.stderr), done.stderr


class Page(html.parser.HTMLParser):
    """The elements of a page, and the text of its table cells."""

    def __init__(self, text):
        super().__init__()
        self.elements = []
        self.cells = []
        self.in_cell = False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self.in_cell = tag in ("td", "th")

    def handle_data(self, data):
        if self.in_cell:
            self.cells.append(data)
        self.in_cell = False

    def of_class(self, name):
        return [attributes for _, attributes in self.elements
                if name in attributes.get("class", "").split()]


def test_the_page_has_its_facts_without_a_script(page):
    shown = Page(page.read_text())
    assert "allreduce.layer<2>" in shown.cells
    assert len(shown.of_class("exposed")) > 20
    assert not [tag for tag, _ in shown.elements if re.fullmatch(r"layer.*", tag)]


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium (on Debian: chromium)")
def test_a_browser_shows_the_page(page, tmp_path):
    def shown_by_browser(path):
        done = subprocess.run(
            [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000",
             f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", path.as_uri()],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=100)
        assert done.returncode == 0 and done.stdout, done.stderr
        return Page(done.stdout)

    shown = shown_by_browser(page)
    pictures = {a["id"]: a for tag, a in shown.elements if tag == "svg" and "id" in a}
    assert set(pictures) == {"step", "all"}
    for picture in pictures.values():
        assert picture["data-zoom"] == "ready"  # The script has come to its end.
    assert len(shown.of_class("lanes")) == 2
    red = shown.of_class("exposed")
    assert len(red) > 20 and all(float(a["width"]) > 0 for a in red if "width" in a)
    assert "allreduce.layer<2>" in shown.cells
    body = next(a for tag, a in shown.elements if tag == "body")
    assert "data-error" not in body, body

    # An error would be seen.
    broken = tmp_path / "broken.html"
    broken.write_text(page.read_text().replace("show();\n  picture", "missing();\n  picture"))
    body = next(a for tag, a in shown_by_browser(broken).elements if tag == "body")
    assert "missing is not defined" in body["data-error"]
    # Policies are not weakened: a page with an image from elsewhere shows none.
    assert "default-src 'none'" in json.dumps(shown.elements)
