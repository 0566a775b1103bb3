// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/loading/mpi_module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "horovodpp/core/version.h"
#include "horovodpp/transport/loading/loaded_mpi.h"

namespace hvd::transport {
namespace {

using ::testing::HasSubstr;

std::string refusal_of(const MpiModuleChoice& choice) {
  const absl::Status status = load_mpi_module(choice);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  return std::string(status.message());
}

TEST(MpiModule, HasTheFlavorOfTheMpi) {
  EXPECT_EQ(mpi_flavor_of("Open MPI v4.1.4, package: Debian OpenMPI"),
            "openmpi4");
  EXPECT_EQ(mpi_flavor_of("Open MPI v5.0.3, package: x"), "openmpi5");
  EXPECT_EQ(mpi_flavor_of("MPICH Version:      4.0.2\nMPICH Release date"),
            "mpich");
  EXPECT_EQ(mpi_flavor_of("Intel(R) MPI Library 2021.9 for Linux* OS"),
            "mpich");
  EXPECT_EQ(mpi_flavor_of("MVAPICH2 Version      :\t2.3.7"), "mpich");
  EXPECT_EQ(mpi_flavor_of("something new"), "");
}

TEST(MpiModule, NamesTheMissingFile) {
  const std::string text = refusal_of({.file = "", .launcher = "openmpi99"});
  EXPECT_THAT(text, HasSubstr("libhorovodpp_mpi_openmpi99.so in /"));
  EXPECT_THAT(text, HasSubstr("HOROVODPP_MPI_MODULE"));
  EXPECT_THAT(text, HasSubstr("--no-mpi"));
}

TEST(MpiModule, NamesAnUnloadableFile) {
  const std::string text =
      refusal_of({.file = "/nowhere/libhorovodpp_mpi_x.so", .launcher = ""});
  EXPECT_THAT(text, HasSubstr("/nowhere/libhorovodpp_mpi_x.so: cannot open"));
}

TEST(MpiModule, NamesTheMpiThatIsNotInstalled) {
  const std::string text =
      refusal_of({.file = HVD_MODULE_WITHOUT_ITS_MPI, .launcher = ""});
  EXPECT_THAT(text, HasSubstr("libabsent_mpi.so: cannot open"));
  EXPECT_THAT(text, HasSubstr("is the MPI installed"));
}

TEST(MpiModule, IsNoOtherLibrary) {
  EXPECT_THAT(refusal_of({.file = "libm.so.6", .launcher = ""}),
              HasSubstr("differs from libm.so.6"));
}

TEST(MpiModule, IsOfTheLibrarysVersion) {
  EXPECT_THAT(
      refusal_of({.file = HVD_MODULE_OF_ANOTHER_TIME, .launcher = ""}),
      HasSubstr(std::string("is of version 0.0.1, and the library of ") +
                version()));
}

TEST(MpiModule, DoesNotRunMpiOutsideALauncher) {
  EXPECT_FALSE(mpi_is_running());
}

}  // namespace
}  // namespace hvd::transport
