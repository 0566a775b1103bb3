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

    def write(self, path, text):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def faults(self):
        return list(boundary.faults(self.root))

    def test_finds_what_is_thrown_and_no_error_of_ours(self):
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


if __name__ == "__main__":
    unittest.main()
