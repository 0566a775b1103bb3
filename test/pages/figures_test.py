# SPDX-License-Identifier: Apache-2.0
"""The figures of the pages: each is up to date, and shown with words and its command.

    figures_test.py <root> <python with Matplotlib>

Exits with 77, which ctest counts as skipped, where that Python or its Matplotlib is missing.
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import pages

SKIPPED = 77
ROOT, PYTHON = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
SHOWN = re.compile(r"!\[([^\]]*)\]\((?:docs/)?figures/(\w+)\.svg\)\n\n((?:.+\n)+)")


def figures(*arguments):
    return subprocess.run([PYTHON, "-B", ROOT / "scripts" / "figures", *arguments], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def shown():
    """(page, alternative text, name, paragraph below) of each figure on a page."""
    for page in pages.pages(ROOT):
        for found in SHOWN.finditer(page.read_text()):
            yield page.relative_to(ROOT), *found.groups()


class Figures(unittest.TestCase):
    def test_each_is_as_the_tables_and_records_have_it(self):
        checked = figures("--check")
        self.assertEqual(checked.returncode, 0, checked.stdout)

    def test_each_is_shown_with_words_and_its_command(self):
        names = set()
        for page, words, name, caption in shown():
            with self.subTest(page=page, figure=name):
                self.assertGreater(len(words.split()), 10)
                self.assertIn(f"`python3 scripts/figures {name}`", caption)
            names.add(name)
        self.assertEqual(names, {file.stem for file in (ROOT / "docs/figures").glob("*.svg")})
        self.assertGreaterEqual(len(names), 6)

    def test_a_stale_figure_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(figures("planes", "--folder", folder).returncode, 0)
            self.assertEqual(figures("planes", "--folder", folder, "--check").returncode, 0)
            file = pathlib.Path(folder, "planes.svg")
            file.write_text(file.read_text().replace("hierarchical", "other"))
            checked = figures("planes", "--folder", folder, "--check")
            self.assertEqual(checked.returncode, 1)
            self.assertIn("planes.svg is out of date", checked.stdout)


if __name__ == "__main__":
    if not PYTHON.exists() or subprocess.run([PYTHON, "-c", "import matplotlib"],
                                             stderr=subprocess.DEVNULL).returncode:
        print(f"SKIPPED: no {PYTHON} with Matplotlib: scripts/install_dependencies.sh test")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1])
