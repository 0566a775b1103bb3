# SPDX-License-Identifier: Apache-2.0
"""horovodpp for Conan 2, from the clone that this file lies in: conan create packaging/conan"""

import pathlib
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy

SOURCES = ("CMakeLists.txt", "LICENSE", "NOTICE", "THIRD_PARTY.md", "cmake/*", "horovodpp/*",
           "horovodrun/*")


class Horovodpp(ConanFile):
    name = "horovodpp"
    description = "Data-parallel training for C++: Horovod's programming model"
    license = "Apache-2.0"
    topics = ("machine-learning", "distributed", "mpi")
    package_type = "library"
    settings = "os", "compiler", "build_type", "arch"
    options = {"shared": [True, False], "with_mpi": [True, False], "with_images": [True, False]}
    default_options = {"shared": True, "with_mpi": False, "with_images": True}
    generators = "CMakeDeps"

    @property
    def _root(self):
        return pathlib.Path(self.recipe_folder).parents[1]

    def set_version(self):
        text = (self._root / "CMakeLists.txt").read_text()
        self.version = re.search(r"project\(horovodpp VERSION ([0-9.]+)", text)[1]

    def export_sources(self):
        for pattern in SOURCES:
            copy(self, pattern, self._root, self.export_sources_folder)

    def requirements(self):
        self.requires("abseil/[>=20220623]")
        self.requires("spdlog/[>=1.10 <2]")
        self.requires("highway/[>=1.0.3 <2]")
        self.requires("nlohmann_json/[>=3.11 <4]")
        self.requires("openblas/[>=0.3 <1]")
        self.requires("zlib/[>=1.2.11 <2]")
        self.requires("libsodium/[>=1.0.18 <2]")
        self.requires("yaml-cpp/[>=0.7 <1]")
        if self.options.with_images:
            self.requires("libpng/[>=1.6 <2]")
            self.requires("libjpeg-turbo/[>=2.1 <4]")
        if self.options.with_mpi:
            self.requires("openmpi/[>=4.1]")

    def validate(self):
        check_min_cppstd(self, 20)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables.update(
            HVD_WITH_MPI=bool(self.options.with_mpi), HVD_WITH_IMAGES=bool(self.options.with_images),
            HVD_WITH_UCX=False, HVD_WITH_DNNL=False,
            HVD_BUILD_TESTS=False, HVD_BUILD_EXAMPLES=False, CMAKE_UNITY_BUILD=True, CMAKE_UNITY_BUILD_BATCH_SIZE="8")
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        for paper in ("LICENSE", "NOTICE", "THIRD_PARTY.md"):
            copy(self, paper, self.source_folder, pathlib.Path(self.package_folder, "licenses"))

    def package_info(self):
        # The library's own files for find_package() know more than Conan does.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs.append("lib/cmake/horovodpp")
        self.cpp_info.libs = ["horovodpp"]
        if self.options.shared:
            self.cpp_info.libs.insert(0, "horovodpp_tensors")
