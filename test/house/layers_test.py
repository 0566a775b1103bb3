"""Plants violations in a small house and holds layers.py to finding each."""

import pathlib
import tempfile
import unittest

import layers

CMAKE = """
hvd_layer(core)
hvd_layer(transport MAY_INCLUDE core BACKENDS ${backends} USES ${mpi})
hvd_layer(collective MAY_INCLUDE core transport)
hvd_layer(autograd MAY_INCLUDE core
          USES BLAS::BLAS)
hvd_layer(runtime MAY_INCLUDE core transport collective)
"""


def found_in(files, cmake=CMAKE):
    with tempfile.TemporaryDirectory() as root:
        for path, text in {"CMakeLists.txt": cmake, **files}.items():
            file = pathlib.Path(root) / "horovodpp" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return list(layers.violations(root))


def found_in_line(path, line):
    return found_in({path: f"#include <vector>\n{line}\n"})


class Layers(unittest.TestCase):
    def test_grants_are_read_from_the_cmake_file(self):
        granted = layers.granted_layers(CMAKE)
        self.assertEqual(granted["core"], set())
        self.assertEqual(granted["transport"], {"core"})
        self.assertEqual(granted["autograd"], {"core"})
        self.assertEqual(granted["runtime"], {"core", "transport", "collective"})

    def test_what_is_granted_is_not_a_violation(self):
        for path, line in [
            ("core/a.h", '#include "horovodpp/core/b.h"'),
            ("collective/a.cc", '#include "horovodpp/transport/b.h"'),
            ("core/a.cc", '#include "absl/status/status.h"'),
            ("transport/mpi_a.cc", "#include <mpi.h>"),
            ("collective/nccl_a.cc", "#include <cuda_runtime.h>"),
            ("autograd/gemm.cc", "#include <cblas.h>"),
            ("runtime/config.cc", 'auto* x = std::getenv("X");'),
            ("core/a.h", "// Not what getenv says."),
            ("horovodpp.h", '#include "horovodpp/runtime/api.h"'),
        ]:
            self.assertEqual(found_in_line(path, line), [], path)

    def test_what_is_not_granted_is_found_where_it_stands(self):
        for path, line in [
            ("core/a.h", '#include "horovodpp/transport/b.h"'),
            ("core/a.h", "#include <horovodpp/transport/b.h>"),
            ("core/a.h", '  #  include "horovodpp/transport/b.h"'),
            ("autograd/a.cc", '#include "horovodpp/runtime/b.h"'),
            ("transport/a.cc", '#include "horovodpp/collective/b.h"'),
            ("core/a.cc", '#include "b.h"'),
            ("transport/a.cc", "#include <mpi.h>"),
            ("runtime/mpi_a.cc", "#include <mpi.h>"),
            ("transport/nccl_a.cc", "#include <nccl.h>"),
            ("collective/shm_a.cc", '#include "cuda_runtime.h"'),
            ("runtime/a.cc", "#include <cblas.h>"),
            ("runtime/a.cc", "#include <nanobind/nanobind.h>"),
            ("runtime/api.cc", 'auto* x = getenv("X");'),
        ]:
            found = found_in_line(path, line)
            self.assertTrue(found, f"{path}: {line}")
            self.assertTrue(found[0].startswith(f"horovodpp/{path}:2: "), found)

    def test_a_folder_without_a_line_is_found(self):
        self.assertTrue(found_in({"attic/a.h": ""}))

    def test_a_folder_in_a_folder_is_found(self):
        self.assertTrue(found_in({"core/detail/a.h": ""}))

    def test_layers_in_a_circle_are_found(self):
        circle = "hvd_layer(a MAY_INCLUDE b)\nhvd_layer(b MAY_INCLUDE a)\n"
        self.assertTrue(found_in({}, circle))

    def test_a_house_without_layers_is_found(self):
        self.assertTrue(found_in({}, "project(x)\n"))


if __name__ == "__main__":
    unittest.main()
