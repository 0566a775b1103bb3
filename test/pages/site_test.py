# SPDX-License-Identifier: Apache-2.0
"""Builds the documentation site, in which a broken link is an error, and looks into it.

    site_test.py <root> <python with MkDocs> <folder for the site>

Exits with 77, which ctest counts as skipped, where MkDocs or Doxygen is missing.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SKIPPED = 77
ROOT, PYTHON, FOLDER = (pathlib.Path(path) for path in sys.argv[1:4])
sys.path.insert(0, str(ROOT / "scripts" / "site"))

import api_pages  # noqa: E402


def mkdocs(config, folder):
    return subprocess.run(
        [PYTHON, "-m", "mkdocs", "build", "--strict", "-f", config, "-d", folder],
        env=dict(os.environ, NO_MKDOCS_2_WARNING="1", PYTHONDONTWRITEBYTECODE="1"),
        stderr=subprocess.STDOUT, stdout=subprocess.PIPE, text=True, cwd=ROOT)


class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.result = mkdocs(ROOT / "mkdocs.yml", FOLDER)

    def test_every_link_leads_somewhere(self):
        self.assertEqual(self.result.returncode, 0, self.result.stdout)

    def test_every_public_header_has_a_page(self):
        for header in api_pages.public_headers(ROOT):
            name = header.removeprefix("horovodpp/").removesuffix(".h") + ".html"
            self.assertTrue((FOLDER / "api" / name).exists(), name)

    def test_internals_have_no_page(self):
        installed = set(api_pages.installed_headers(ROOT))
        self.assertEqual(api_pages.INTERNAL - installed, set(), "not installed any more")
        self.assertFalse((FOLDER / "api" / "autograd" / "graph_state.html").exists())

    def test_a_link_named_by_its_file_shows_the_title_of_the_page(self):
        page = (FOLDER / "tutorial.html").read_text()
        self.assertIn('<a href="torch.html">PyTorch</a>', page)
        self.assertNotIn(">torch.md<", page)

    def test_a_declaration_is_shown_with_its_contract_and_without_its_body(self):
        header, = (header for header in api_pages.public_headers(ROOT)
                   if header.endswith("/process_set.h"))
        place = header.removeprefix("horovodpp/").removesuffix(".h") + ".html"
        page = (FOLDER / "api" / place).read_text()
        self.assertIn("A ProcessSet names some ranks of a job", page)
        self.assertIn("The members, in ascending order", page)
        self.assertNotIn("ranks_(std", page)
        self.assertIn(f'{place}#processset"',
                      (FOLDER / "api/names.html").read_text())

    def test_mistakes_are_found(self):
        for mistake in ("[x](nowhere.md)", "[x](index.md#nowhere)", "[x](/nowhere)"):
            with self.subTest(mistake), tempfile.TemporaryDirectory() as folder:
                self.assertNotEqual(self.small_site(folder, mistake).returncode, 0)
        with tempfile.TemporaryDirectory() as folder:
            result = self.small_site(folder, "[x](#a-page)")
            self.assertEqual(result.returncode, 0, result.stdout)

    @staticmethod
    def small_site(folder, text):
        """A site of one page with the same checks."""
        docs = pathlib.Path(folder, "docs")
        docs.mkdir()
        (docs / "index.md").write_text(f"# A page\n\n{text}\n")
        config = pathlib.Path(folder, "mkdocs.yml")
        config.write_text(f"INHERIT: {ROOT}/mkdocs.yml\nsite_name: small\ndocs_dir: docs\n"
                          "hooks: []\nwatch: []\ntheme: mkdocs\nplugins: []\n"
                          "not_in_nav: ''\nnav: [index.md]\n")
        return mkdocs(config, pathlib.Path(folder, "site"))


if __name__ == "__main__":
    if not PYTHON.exists() or not shutil.which("doxygen"):
        print(f"SKIPPED: no {PYTHON} or no doxygen: scripts/install_dependencies.sh test")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1])
