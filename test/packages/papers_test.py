# SPDX-License-Identifier: Apache-2.0
"""The check of papers finds mistakes."""

import pathlib
import shutil
import sys
import tempfile
import unittest

import papers

ROOT = pathlib.Path(sys.argv.pop())


class Papers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in (*papers.FILES, "CMakeLists.txt", "Makefile"):
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.root / name)

    def after(self, name, old, new):
        text = (self.root / name).read_text()
        self.assertIn(old, text)
        (self.root / name).write_text(text.replace(old, new))
        return "\n".join(papers.mistakes(self.root))

    def test_the_papers_are_right(self):
        self.assertEqual(list(papers.mistakes(self.root)), [])

    def test_a_missing_file_is_found(self):
        (self.root / "CITATION.cff").unlink()
        self.assertEqual(list(papers.mistakes(self.root)), ["CITATION.cff is missing"])

    def test_another_version_is_found(self):
        self.assertIn("not of version", self.after("CITATION.cff", "version: 0.1.0", "version: 9"))

    def test_a_missing_key_is_found(self):
        self.assertIn("has no authors", self.after("CITATION.cff", "\nauthors:", "\nwriters:"))

    def test_another_list_of_builds_is_found(self):
        self.assertIn("the workflow tests",
                      self.after("Makefile", "BUILDS := dev asan", "BUILDS := dev bare asan"))

    def test_a_target_that_is_gone_is_found(self):
        self.assertIn("which is no target",
                      self.after("Makefile", "\ntest-all:", "\ntest-everything:"))


if __name__ == "__main__":
    unittest.main()
