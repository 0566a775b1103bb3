# SPDX-License-Identifier: Apache-2.0
"""Plants violations in a small repository, and expects layers.py to find each."""

import pathlib
import tempfile
import unittest

import layers

CMAKE = """
hvd_layer(core)
hvd_layer(transport MAY_INCLUDE core)
hvd_layer(transport/mpi MAY_INCLUDE core transport USES MPI::MPI_CXX)
hvd_layer(collective MAY_INCLUDE core transport)
hvd_layer(collective/reduce MAY_INCLUDE core)
hvd_layer(collective/nccl MAY_INCLUDE core)
hvd_layer(collective/shm
  MAY_INCLUDE core transport
              collective collective/reduce
  USES hwy::hwy)
hvd_layer(autograd MAY_INCLUDE core kernel)
hvd_layer(kernel MAY_INCLUDE core)
hvd_layer(kernel/products MAY_INCLUDE core
          USES BLAS::BLAS)
hvd_layer(runtime/settings MAY_INCLUDE core)
hvd_layer(runtime MAY_INCLUDE core transport collective)
"""


def found_in(files, cmake=CMAKE):
    with tempfile.TemporaryDirectory() as root:
        for path, text in {"CMakeLists.txt": cmake, **files}.items():
            file = pathlib.Path(root) / "horovodpp" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return list(layers.violations(root))


def cycles_in(files):
    return [line for line in found_in(files) if "include each other" in line]


def found_in_line(path, line):
    return found_in({path: f"#include <vector>\n{line}\n"})


class Layers(unittest.TestCase):
    def test_grants_are_read_from_the_cmake_file(self):
        granted = layers.granted_folders(CMAKE)
        self.assertEqual(granted["core"], set())
        self.assertEqual(granted["transport"], {"core"})
        self.assertEqual(granted["autograd"], {"core", "kernel"})
        self.assertEqual(granted["kernel"], {"core"})
        self.assertEqual(granted["collective/reduce"], {"core"})
        self.assertEqual(
            granted["collective/shm"], {"core", "transport", "collective", "collective/reduce"}
        )
        self.assertEqual(granted["runtime"], {"core", "transport", "collective"})

    def test_a_folder_with_too_many_sources_is_found(self):
        files = {f"core/file_{number}.cc": "" for number in range(layers.MOST_SOURCES)}
        self.assertEqual(found_in(files), [])
        self.assertEqual(found_in(files | {"core/one_more.h": ""}),
                         ["horovodpp/core: holds 26 sources; split it, 25 are the most"])

    def test_a_granted_include_is_no_violation(self):
        for path, line in [
            ("core/a.h", '#include "horovodpp/core/b.h"'),
            ("collective/a.cc", '#include "horovodpp/transport/b.h"'),
            ("core/a.cc", '#include "absl/status/status.h"'),
            ("transport/mpi/a.cc", "#include <mpi.h>"),
            ("collective/nccl/a.cc", '#include "horovodpp/core/a.h"'),
            ("collective/shm/a.cc", '#include "horovodpp/collective/shm/b.h"'),
            ("collective/shm/a.cc", '#include "horovodpp/collective/reduce/b.h"'),
            ("collective/shm/a.cc", '#include "horovodpp/collective/b.h"'),
            ("kernel/products/gemm.cc", "#include <cblas.h>"),
            ("runtime/settings/config.cc", 'auto* x = std::getenv("X");'),
            ("core/a.h", "// Not what getenv says."),
            ("horovodpp.h", '#include "horovodpp/runtime/api.h"'),
        ]:
            self.assertEqual(found_in_line(path, line), [], path)

    def test_a_violation_is_found_at_its_line(self):
        for path, line in [
            ("core/a.h", '#include "horovodpp/transport/b.h"'),
            ("core/a.h", "#include <horovodpp/transport/b.h>"),
            ("core/a.h", '  #  include "horovodpp/transport/b.h"'),
            ("autograd/a.cc", '#include "horovodpp/runtime/b.h"'),
            ("transport/a.cc", '#include "horovodpp/collective/b.h"'),
            ("core/a.cc", '#include "b.h"'),
            ("transport/a.cc", "#include <mpi.h>"),
            ("transport/mpi_a.cc", "#include <mpi.h>"),
            ("runtime/mpi_a.cc", "#include <mpi.h>"),
            ("collective/shm/mpi_a.cc", "#include <mpi.h>"),
            ("transport/a.cc", "#include <nccl.h>"),
            ("collective/nccl/a.cc", "#include <nccl.h>"),
            ("collective/a.cc", '#include "horovodpp/collective/shm/b.h"'),
            ("collective/reduce/a.cc", '#include "horovodpp/collective/b.h"'),
            ("collective/reduce/a.cc", '#include "horovodpp/collective/shm/b.h"'),
            ("runtime/a.cc", '#include "horovodpp/collective/shm/b.h"'),
            ("collective/a.cc", '#include "horovodpp/horovodpp.h"'),
            ("collective/shm/a.cc", '#include "cuda_runtime.h"'),
            ("runtime/a.cc", "#include <cblas.h>"),
            ("runtime/a.cc", "#include <nanobind/nanobind.h>"),
            ("runtime/api.cc", 'auto* x = getenv("X");'),
        ]:
            found = found_in_line(path, line)
            self.assertTrue(found, f"{path}: {line}")
            self.assertTrue(found[0].startswith(f"horovodpp/{path}:2: "), found)

    def test_a_folder_without_a_line_is_found(self):
        self.assertTrue(found_in({"attic/a.h": ""}))

    def test_a_room_without_a_line_is_found(self):
        self.assertTrue(found_in({"core/detail/a.h": ""}))

    def test_a_folder_that_is_granted_and_has_no_line_is_found(self):
        cmake = "hvd_layer(core MAY_INCLUDE attic)\n"
        self.assertIn("'attic', which has no line", found_in({}, cmake)[0])

    def test_a_room_in_a_room_is_found(self):
        found = found_in({"core/a/b/c.h": ""}, "hvd_layer(core/a/b)\n")
        self.assertEqual(
            found, ["horovodpp/CMakeLists.txt: 'core/a/b' is more than two folders deep"]
        )

    def test_a_layer_may_be_granted_with_its_rooms(self):
        cmake = (
            "hvd_layer(core)\nhvd_layer(core/thread MAY_INCLUDE core)\n"
            "hvd_layer(coreless)\nhvd_layer(transport MAY_INCLUDE core/* USES x)\n"
        )
        granted = layers.granted_folders(cmake)
        self.assertEqual(granted["transport"], {"core", "core/thread"})
        self.assertEqual(granted["core/thread"], {"core"})
        self.assertEqual(found_in({"transport/a.h": '#include "horovodpp/coreless/b.h"'}, cmake)[0:1],
                         ["horovodpp/transport/a.h:1: includes horovodpp/coreless/b.h, but "
                          "'transport' may not include 'coreless'"])

    def test_layers_in_a_circle_are_found(self):
        circle = "hvd_layer(a MAY_INCLUDE b)\nhvd_layer(b MAY_INCLUDE a)\n"
        self.assertEqual(
            found_in({}, circle),
            [
                "horovodpp/CMakeLists.txt: layers may include each other: "
                "a, which may include b, which may include a"
            ],
        )

    def test_a_cycle_of_modules_is_reported_as_a_chain_of_files(self):
        files = {
            "core/a.h": '#include "horovodpp/core/b.h"\n',
            "core/b.h": "",
            "core/b.cc": '#include "horovodpp/core/b.h"\n#include "horovodpp/core/c.h"\n',
            "core/c.h": '#include "horovodpp/core/a.h"\n',
        }
        self.assertEqual(
            cycles_in(files),
            [
                "horovodpp/core: 3 modules include each other; the shortest cycle: "
                "a.h includes b.h, b.cc includes c.h, c.h includes a.h"
            ],
        )

    def test_reports_the_shortest_cycle_and_counts_all_modules(self):
        files = {
            "core/a.h": '#include "horovodpp/core/b.h"\n',
            "core/b.h": '#include "horovodpp/core/c.h"\n',
            "core/c.h": '#include "horovodpp/core/a.h"\n#include "horovodpp/core/d.h"\n',
            "core/d.h": "#include <horovodpp/core/c.h>\n",
        }
        (found,) = cycles_in(files)
        self.assertIn("4 modules", found)
        self.assertTrue(found.endswith("c.h includes d.h, d.h includes c.h"), found)

    def test_a_cycle_in_a_room_is_found(self):
        files = {
            "collective/shm/a.h": "",
            "collective/shm/a.cc": '#include "horovodpp/collective/shm/b.h"\n',
            "collective/shm/b.h": '#include "horovodpp/collective/shm/a.h"\n',
        }
        (found,) = cycles_in(files)
        self.assertTrue(found.startswith("horovodpp/collective/shm: 2 modules"), found)

    def test_reports_no_cycle_without_one(self):
        for files in [
            # A header and its source are one module.
            {"core/a.h": "", "core/a.cc": '#include "horovodpp/core/a.h"\n'},
            # Two paths to the same header.
            {
                "core/a.h": '#include "horovodpp/core/b.h"\n#include "horovodpp/core/c.h"\n',
                "core/b.h": '#include "horovodpp/core/c.h"\n',
                "core/c.h": "",
            },
            # Modules of one name in two folders are two.
            {
                "core/a.h": "",
                "transport/a.h": '#include "horovodpp/core/a.h"\n',
                "transport/b.h": '#include "horovodpp/transport/a.h"\n',
                "core/b.h": '#include "horovodpp/core/a.h"\n',
            },
            # Mentioned in a comment.
            {
                "core/a.h": '#include "horovodpp/core/b.h"\n',
                "core/b.h": '//   #include "horovodpp/core/a.h"\n',
            },
        ]:
            self.assertEqual(found_in(files), [])

    def test_a_house_without_layers_is_found(self):
        self.assertTrue(found_in({}, "project(x)\n"))


if __name__ == "__main__":
    unittest.main()
