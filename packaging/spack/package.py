# SPDX-License-Identifier: Apache-2.0
# For Spack, from a clone: put this file into packages/horovodpp/ of a repository of Spack's, then
#   spack develop --path CLONE horovodpp@0.1.0 && spack install horovodpp
from spack.package import *


class Horovodpp(CMakePackage):
    """Data-parallel training for C++: Horovod's programming model."""

    license("Apache-2.0")

    version("0.1.0")

    variant("shared", default=True, description="Build a shared library")
    variant("mpi", default=True, description="Build the module that speaks MPI")
    variant("ucx", default=False, description="Build the module that speaks UCX")
    variant("dnnl", default=True, description="Convolve with oneDNN")
    variant("images", default=True, description="Read PNG and JPEG files")

    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("abseil-cpp@20220623: cxxstd=20")
    depends_on("spdlog@1.10:")
    depends_on("highway@1.0.3:")
    depends_on("nlohmann-json@3.11:")
    depends_on("openblas@0.3:")
    depends_on("zlib-api")
    depends_on("libsodium@1.0.18:")
    depends_on("yaml-cpp@0.7:")
    depends_on("mpi", when="+mpi")
    depends_on("ucx@1.11:", when="+ucx")
    depends_on("onednn@2:3", when="+dnnl")
    depends_on("libpng@1.6:", when="+images")
    depends_on("libjpeg-turbo@2.1:", when="+images")

    requires("%gcc@12:", "%clang@14:", policy="one_of")

    def cmake_args(self):
        return [
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define_from_variant("HVD_WITH_MPI", "mpi"),
            self.define_from_variant("HVD_WITH_UCX", "ucx"),
            self.define_from_variant("HVD_WITH_DNNL", "dnnl"),
            self.define_from_variant("HVD_WITH_IMAGES", "images"),
            self.define("HVD_BUILD_TESTS", False),
            self.define("HVD_BUILD_EXAMPLES", False),
        ]
