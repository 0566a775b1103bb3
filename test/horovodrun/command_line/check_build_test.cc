// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/command_line/check_build.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "horovodrun/command_line/arguments.h"
#include "test/support/temporary_folder.h"

namespace hvd::launcher {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const GpuLibraries kNoGpu = {.nccl = "libno_such.so", .cuda = "libno.so"};

// The text of a part, or "" if the installation lacks the part.
std::string part_of(const Installation& installation, const std::string& part) {
  for (const auto& [name, text] : installation.parts) {
    if (name == part) return text;
  }
  return "";
}

// An installation with a file at `place`.
class Installed {
 public:
  explicit Installed(const std::string& place) {
    put("bin/horovodrun");
    put(place);
  }
  Installation found() const {
    return installation_of(folder_.path("bin/horovodrun"), kNoGpu);
  }

 private:
  void put(const std::string& name) {
    const std::filesystem::path file = folder_.path(name);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << "x";
  }
  const TemporaryFolder folder_;
};

TEST(CheckBuild, FindsThePackageOfPipAndOfBuilds) {
  for (const char* const place :
       {"lib/python3.11/site-packages/horovodpp/_core.cpython-311.so",
        "lib/python3/dist-packages/horovodpp/_core.abi3.so",
        "bindings/horovodpp/_core.cpython-311.so"}) {
    const Installation found = Installed(place).found();
    EXPECT_TRUE(found.torch) << place;
    EXPECT_FALSE(found.mpi) << place;
  }
}

TEST(CheckBuild, FindsTheModuleForMpiBesideTheLibraryAndThePackage) {
  for (const char* const place :
       {"lib/libhorovodpp_mpi_openmpi4.so", "lib64/libhorovodpp_mpi_mpich.so",
        "lib/x86_64-linux-gnu/libhorovodpp_mpi_openmpi5.so",
        "horovodpp/libhorovodpp_mpi_openmpi4.so",
        "lib/python3.11/site-packages/horovodpp/libhorovodpp_mpi_mpich.so"}) {
    const Installation found = Installed(place).found();
    EXPECT_TRUE(found.mpi) << place;
    EXPECT_FALSE(found.torch) << place;
  }
}

// libm stands in for a library that the dynamic linker knows.
TEST(CheckBuild, FindsLoadableNcclAndTorchsNccl) {
  const TemporaryFolder empty;
  EXPECT_TRUE(installation_of(empty.path("bin/horovodrun"),
                              {.nccl = "libm.so.6", .cuda = "libno.so"})
                  .nccl);
  EXPECT_TRUE(
      Installed("lib/python3.11/site-packages/nvidia/nccl/lib/libnccl.so.2")
          .found()
          .nccl);
}

TEST(CheckBuild, IgnoresOtherFiles) {
  const Installation found = Installed("lib/libhorovodpp.so").found();
  EXPECT_FALSE(found.torch || found.mpi || found.nccl);
  const Installation nowhere = installation_of("/no/such/horovodrun", kNoGpu);
  EXPECT_FALSE(nowhere.torch || nowhere.mpi || nowhere.nccl);
}

TEST(CheckBuild, UsesHorovodsWords) {
  EXPECT_EQ(to_text({.torch = true,
                     .nccl = true,
                     .parts = {{"MPI", "mpich: of X"}, {"C, C++", "a"}}},
                    "1.2.3"),
            "Horovod v1.2.3:\n"
            "\n"
            "Available Frameworks:\n"
            "    [ ] TensorFlow\n"
            "    [X] PyTorch\n"
            "    [ ] MXNet\n"
            "\n"
            "Available Controllers:\n"
            "    [ ] MPI\n"
            "    [ ] Gloo\n"
            "\n"
            "Available Tensor Operations:\n"
            "    [X] NCCL\n"
            "    [ ] DDL\n"
            "    [ ] CCL\n"
            "    [ ] MPI\n"
            "    [ ] Gloo\n"
            "\n"
            "Of horovodpp:\n"
            "    MPI      mpich: of X\n"
            "    C, C++   a\n");
}

TEST(CheckBuild, NamesEachPart) {
  const Installation found =
      Installed("lib/python3.11/site-packages/horovodpp/_core.cpython-311.so")
          .found();
  EXPECT_THAT(part_of(found, "Python"), StartsWith("CPython 3.11, in /"));
  EXPECT_EQ(part_of(found, "MPI"), "no module: ranks are on one host");
  EXPECT_EQ(part_of(found, "UCX"), "no module: tensors travel by TCP or MPI");
  EXPECT_THAT(part_of(found, "NCCL"), StartsWith("none: libno_such.so"));
  EXPECT_THAT(part_of(found, "CUDA"), StartsWith("none: libno.so"));
  EXPECT_THAT(part_of(found, "planes"), HasSubstr("hierarchical"));
  EXPECT_NE(part_of(found, "oneDNN"), "");
  const Installation library = Installed("lib/libhorovodpp.so.0.1").found();
  EXPECT_THAT(part_of(library, "C, C++"),
              HasSubstr("/lib/libhorovodpp.so.0.1"));
  const Installation module =
      Installed("lib/libhorovodpp_mpi_openmpi4.so").found();
  EXPECT_THAT(part_of(module, "MPI"),
              StartsWith("openmpi4: cannot be loaded, /"));
  const Installation ucx = Installed("lib/libhorovodpp_ucx.so").found();
  EXPECT_THAT(part_of(ucx, "UCX"), StartsWith("cannot be loaded, /"));
}

TEST(CheckBuild, ReportsTheVersionsOfNcclAndTheDriver) {
  const Installation found = installation_of(
      "/no/such/horovodrun", {.nccl = HVD_FAKE_NCCL, .cuda = HVD_FAKE_CUDA});
  EXPECT_THAT(part_of(found, "NCCL"), ContainsRegex("^2\\.[0-9]+\\.[0-9]+$"));
  EXPECT_THAT(part_of(found, "CUDA"), ContainsRegex("^1[0-9]\\.[0-9]$"));
}

TEST(CheckBuild, NeedsNoNumberOfRanks) {
  for (const char* const word : {"--check-build", "-cb"}) {
    const auto arguments = parse_arguments({word}, {});
    ASSERT_TRUE(arguments.ok()) << arguments.status();
    EXPECT_THAT(arguments->answer, StartsWith("Horovod v"));
    EXPECT_THAT(arguments->answer, HasSubstr("Available Controllers:"));
  }
}

}  // namespace
}  // namespace hvd::launcher
