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

using ::testing::HasSubstr;
using ::testing::StartsWith;

// An installation with a file at `place`.
class Installed {
 public:
  explicit Installed(const std::string& place) {
    put("bin/horovodrun");
    put(place);
  }
  Installation found() const {
    return installation_of(folder_.path("bin/horovodrun"), "libno_such.so");
  }

 private:
  void put(const std::string& name) {
    const std::filesystem::path file = folder_.path(name);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << "x";
  }
  const TemporaryFolder folder_;
};

TEST(CheckBuild, FindsThePackageWherePipAndBuildsPutIt) {
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

// libm stands in for one that the dynamic linker knows.
TEST(CheckBuild, FindsNcclWhereItCanBeLoadedAndWhereTorchBringsIt) {
  const TemporaryFolder empty;
  EXPECT_TRUE(installation_of(empty.path("bin/horovodrun"), "libm.so.6").nccl);
  EXPECT_TRUE(
      Installed("lib/python3.11/site-packages/nvidia/nccl/lib/libnccl.so.2")
          .found()
          .nccl);
}

TEST(CheckBuild, TakesNothingElseForThem) {
  const Installation found = Installed("lib/libhorovodpp.so").found();
  EXPECT_FALSE(found.torch || found.mpi || found.nccl);
  const Installation nowhere =
      installation_of("/no/such/horovodrun", "libno.so");
  EXPECT_FALSE(nowhere.torch || nowhere.mpi || nowhere.nccl);
}

TEST(CheckBuild, IsToldInHorovodsWords) {
  EXPECT_EQ(to_text({.torch = true, .nccl = true}, "1.2.3"),
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
            "    [ ] Gloo\n");
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
