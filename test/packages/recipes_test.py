# SPDX-License-Identifier: Apache-2.0
"""Plants mistakes in the recipes, and holds recipes.py to finding them.

    recipes_test.py <root>
"""

import pathlib
import shutil
import sys
import tempfile
import unittest

import recipes

ROOT = pathlib.Path(sys.argv.pop())


class Recipes(unittest.TestCase):
    def mistakes(self, file, text, instead):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            shutil.copytree(ROOT / "packaging", root / "packaging")
            for name in ("horovodrun", "horovodpp", "cmake"):
                (root / name).mkdir()
                shutil.copy(ROOT / "CMakeLists.txt", root / name / "a_file")
            for name in ("CMakeLists.txt", "horovodrun/CMakeLists.txt",
                         "horovodpp/CMakeLists.txt", "LICENSE", "NOTICE", "THIRD_PARTY.md"):
                shutil.copy(ROOT / name, root / name)
            path = root / file
            self.assertIn(text, path.read_text())
            path.write_text(path.read_text().replace(text, instead))
            return list(recipes.mistakes(root))

    def test_an_unknown_option(self):
        found, = self.mistakes("packaging/bazel/BUILD.bazel", "HVD_WITH_MPI", "HVD_WITH_PMI")
        self.assertIn("bazel sets HVD_WITH_PMI", found)

    def test_a_file_that_does_not_exist(self):
        found, = self.mistakes("packaging/conan/conanfile.py", '"cmake/*"', '"make/*"')
        self.assertIn("conan lists make/*, which does not exist", found)
        found, = self.mistakes("packaging/vcpkg/portfile.cmake", "/NOTICE", "/NOTICES")
        self.assertIn("vcpkg lists NOTICES, which does not exist", found)

    def test_a_feature_of_one_file(self):
        found, = self.mistakes("packaging/vcpkg/portfile.cmake", " dnnl HVD_WITH_DNNL", "")
        self.assertIn("vcpkg has the feature dnnl in only one", found)

    def test_a_library_that_the_build_does_not_make(self):
        found, = self.mistakes("packaging/bazel/BUILD.bazel", '"libhorovodpp_tensors.so",',
                               '"libhorovodpp_graphs.so",')
        self.assertIn("bazel names libhorovodpp_graphs.so", found)

    def test_a_library_that_is_left_out(self):
        found, = self.mistakes("packaging/vcpkg/vcpkg.json", '"zlib",', "")
        self.assertIn("vcpkg does not depend on ZLIB", found)

    def test_a_version_of_another_time(self):
        found = self.mistakes("CMakeLists.txt", "horovodpp VERSION 0.1.0", "horovodpp VERSION 0.2.0")
        self.assertEqual(len(found), 4, found)

    def test_a_new_dependency_of_the_build(self):
        found, = self.mistakes("CMakeLists.txt", "find_package(ZLIB REQUIRED)",
                               "find_package(ZLIB REQUIRED)\nfind_package(Snappy REQUIRED)")
        self.assertIn("the build needs Snappy", found)


if __name__ == "__main__":
    unittest.main()
