# SPDX-License-Identifier: Apache-2.0
"""Runs format.sh in a small repository, and checks its findings and its output files."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).parents[2]
CXX = "// SPDX-License-Identifier: Apache-2.0\n"
SCRIPT = CXX.replace("//", "#")

SOURCES = {
    "horovodpp/core/a b.h": "// A thing.\n#pragma once\n",
    "test/a_test.cc": CXX + "int  main() {}\n",
    "examples/run.py": "#!/usr/bin/env python3\n\"\"\"Runs.\"\"\"\n",
    "CMakeLists.txt": "project(x)",
    "build/generated.cmake": "set(x y)\n",
    "README.md": "# A house\n",
}
WRITTEN = {
    **SOURCES,
    "horovodpp/core/a b.h": CXX + SOURCES["horovodpp/core/a b.h"],
    "test/a_test.cc": CXX + "int main() {}\n",
    "examples/run.py": "#!/usr/bin/env python3\n" + SCRIPT + "\"\"\"Runs.\"\"\"\n",
    "CMakeLists.txt": SCRIPT + "project(x)",
}


class Format(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "scripts").mkdir()
        shutil.copy(ROOT / ".clang-format", self.root)
        script = (ROOT / "scripts/format.sh").read_text()
        lines = [line for line in script.splitlines(True) if line != SCRIPT]
        self.add("scripts/format.sh", lines[0] + SCRIPT + "".join(lines[1:]))
        for path, text in SOURCES.items():
            self.add(path, text)

    def add(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def run_format(self, *arguments):
        command = ["sh", self.root / "scripts/format.sh", *arguments]
        return subprocess.run(command, capture_output=True, text=True)

    def written(self):
        return {path: (self.root / path).read_text() for path in SOURCES}

    def test_check_reports_missing_headers_and_changes_no_file(self):
        result = self.run_format("--check")
        self.assertNotEqual(result.returncode, 0)
        found = sorted(line for line in result.stderr.splitlines() if "does not begin" in line)
        self.assertEqual(
            [line.split(":")[0] for line in found],
            ["./CMakeLists.txt", "./examples/run.py", "horovodpp/core/a b.h"],
        )
        self.assertIn("test/a_test.cc:2:", result.stderr)  # The formatting.
        self.assertEqual(self.written(), SOURCES)

    def test_missing_headers_are_added_once(self):
        os.chmod(self.root / "examples/run.py", 0o755)
        for _ in range(2):
            result = self.run_format()
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(self.written(), WRITTEN)
        self.assertEqual(os.stat(self.root / "examples/run.py").st_mode & 0o777, 0o755)
        self.assertEqual(self.run_format("--check").returncode, 0)

    def test_another_licence_is_reported_and_kept(self):
        self.add("test/other.h", "// SPDX-License-Identifier: MIT\n#pragma once\n")
        result = self.run_format()
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("test/other.h: names a licence", result.stderr)
        self.assertEqual((self.root / "test/other.h").read_text().count("SPDX"), 1)
        self.assertEqual(self.written(), WRITTEN)

    def test_a_line_that_comes_too_late_does_not_count(self):
        self.add("test/late.h", "#pragma once\n\n\n" + CXX)
        self.assertIn("test/late.h:1:", self.run_format("--check").stderr)


if __name__ == "__main__":
    unittest.main()
