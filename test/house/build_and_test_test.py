# SPDX-License-Identifier: Apache-2.0
"""The summary that scripts/build_and_test.py makes from ctest's output."""

import pathlib
import sys
import tempfile
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import build_and_test  # noqa: E402

OUTPUT = """\
Test project /somewhere/build/all
      Start  1: core
 1/4 Test  #1: core .............................   Passed    0.50 sec
 2/4 Test  #3: tsan.runtime.1 ...................***Failed   20.25 sec
what it printed, in 3.00 sec
 3/4 Test  #2: asan.core ........................   Passed    1.00 sec
 4/4 Test  #4: house.SourcesAreLaidOut ..........***Not Run (Disabled)   0.00 sec

75% tests passed, 1 tests failed out of 4

Total Test time (real) =  21.80 sec
""".splitlines(keepends=True)


class Summary(unittest.TestCase):
    def setUp(self):
        self.lines = list(build_and_test.with_summary(OUTPUT, {"dev": 61.4, "asan": 7, "tsan": 8}))

    def test_stands_before_the_closing_lines(self):
        self.assertEqual(self.lines[:8], OUTPUT[:8])
        self.assertEqual(self.lines[-3:], OUTPUT[-3:])

    def test_adds_up_each_preset(self):
        self.assertIn("  dev             61       0\n", self.lines)
        self.assertIn("  tsan             8      20\n", self.lines)

    def test_lists_the_slowest_first(self):
        begin = self.lines.index("The 4 slowest tests\n")
        self.assertEqual([line.split()[1] for line in self.lines[begin + 1:begin + 4]],
                         ["tsan.runtime.1", "asan.core", "core"])


class Lines(unittest.TestCase):
    def test_without_closing_lines_pass_unchanged(self):
        self.assertEqual(list(build_and_test.with_summary(OUTPUT[:5], {"dev": 1})), OUTPUT[:5])


class Order(unittest.TestCase):
    def built(self, exit_code):
        """The presets in the order of their builds, and in that of the result."""
        order = []
        with unittest.mock.patch.object(build_and_test.subprocess, "Popen") as popen, \
                unittest.mock.patch.object(build_and_test, "build",
                                           lambda preset, *_: order.append(preset)):
            tools = popen.return_value.__enter__.return_value
            tools.wait.side_effect = lambda: order.append("tools") or exit_code
            tools.returncode = exit_code
            return order, list(build_and_test.build_all(["dev", "asan", "tsan"], 2, False))

    def test_lets_dev_wait_for_its_tools(self):
        self.assertEqual(self.built(0), (["asan", "tsan", "tools", "dev"],
                                         ["dev", "asan", "tsan"]))

    def test_ends_where_the_tools_could_not_be_installed(self):
        with self.assertRaises(build_and_test.subprocess.CalledProcessError):
            self.built(1)


class Python(unittest.TestCase):
    def test_is_used_where_it_was_installed(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            self.assertEqual(build_and_test.python_options("dev", root), [])
            python = root / "build" / "tools" / "python" / "bin" / "python"
            python.parent.mkdir(parents=True)
            python.touch()
            self.assertIn(f"-DHVD_TORCH_PYTHON={python}",
                          build_and_test.python_options("dev", root))
            self.assertEqual(build_and_test.python_options("asan", root), [])


class Mpi(unittest.TestCase):
    def test_is_each_that_was_installed(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            self.assertEqual(build_and_test.mpi_options("dev", root), [])
            wrappers = [root / "build/tools" / mpi / "bin/mpicxx" for mpi in ("mpich", "openmpi5")]
            for wrapper in wrappers:
                wrapper.parent.mkdir(parents=True)
                wrapper.touch()
            self.assertEqual(build_and_test.mpi_options("dev", root),
                             [f"-DHVD_MORE_MPI={wrappers[0]};{wrappers[1]}"])
            self.assertEqual(build_and_test.mpi_options("tsan", root), [])


class Headers(unittest.TestCase):
    def test_are_compared_with_where_they_were_installed(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            self.assertEqual(build_and_test.header_options("dev", root), [])
            packages = root / "build/tools/gpu_headers/lib/python3.12/site-packages/nvidia"
            headers = [packages / "cu13/include/cuda.h", packages / "nccl/include/nccl.h"]
            for header in headers:
                header.parent.mkdir(parents=True)
                header.touch()
            self.assertEqual(build_and_test.header_options("dev", root),
                             [f"-DHVD_CUDA_INCLUDE_DIR={headers[0].parent}",
                              f"-DHVD_NCCL_INCLUDE_DIR={headers[1].parent}"])
            self.assertEqual(build_and_test.header_options("asan", root), [])


if __name__ == "__main__":
    unittest.main()
