# SPDX-License-Identifier: Apache-2.0
"""Tests boundary.py on small trees that break its rules."""

import pathlib
import tempfile
import unittest

import boundary


class Boundary(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write("cmake/PublicHeaders.cmake", "set(HVD\n  horovodpp/all.h)\n")

    def write(self, path, text):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def faults(self):
        return list(boundary.faults(self.root))

    def test_finds_foreign_exceptions(self):
        self.write(
            "horovodpp/core/a.cc",
            "throw std::runtime_error(text);\n"
            "if (bad) throw std::system_error(code);\n"
            "std::throw_with_nested(std::logic_error(text));\n"
            'throw "text";\n'
            "throw 3;\n",
        )
        found = self.faults()
        self.assertEqual(len(found), 5)
        self.assertIn("a.cc:2: throws std::system_error", found[1])

    def test_allows_errors_of_ours_and_a_lack_of_memory(self):
        self.write(
            "horovodpp/core/a.cc",
            "throw Error(status);\n"
            "throw hvd::InvalidArgument(text);\n"
            "throw autograd::HookError(text);\n"
            "throw;\n"
            "throw std::bad_alloc();\n"
            "// Readers throw std::exception.\n",
        )
        self.assertEqual(self.faults(), [])

    def test_finds_a_public_header_without_exports(self):
        self.write("horovodpp/all.h", '#include "horovodpp/core/a.h"\n')
        self.write("horovodpp/core/a.h", "#pragma once\n\nnamespace hvd::core {\n}\n")
        self.assertIn("core/a.h: is installed, and opens", self.faults()[0])

    def test_finds_an_inner_header_with_exports(self):
        self.write("horovodpp/core/a.h", "namespace HVD_EXPORT hvd {\n")
        self.assertIn("core/a.h: is not installed", self.faults()[0])

    def test_finds_forbidden_includes_of_public_headers(self):
        self.write("horovodpp/all.h", '#include "absl/status/status.h"\n#include <hwy/highway.h>\n')
        self.assertEqual(len(self.faults()), 2)

    def test_finds_slow_headers_behind_the_light_one(self):
        self.write("horovodpp/collectives.h", '#include "horovodpp/core/a.h"\n')
        self.write("horovodpp/core/a.h", "#include <functional>\n")
        self.assertIn("reads <functional>", self.faults()[0])

    def test_mends(self):
        self.write(
            "horovodpp/all.h",
            "#pragma once\n\n#include <string>\n\nnamespace hvd::nn {\nint a();\n}  // namespace hvd::nn\n",
        )
        boundary.mend(self.root)
        self.assertEqual(
            (self.root / "horovodpp/all.h").read_text(),
            '#pragma once\n\n#include <string>\n\n#include "horovodpp/core/export.h"\n\n'
            "namespace HVD_EXPORT hvd {\nnamespace nn {\nint a();\n"
            "}  // namespace nn\n}  // namespace hvd\n",
        )
        self.assertEqual(self.faults(), [])


if __name__ == "__main__":
    unittest.main()
