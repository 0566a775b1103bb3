// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/engines/mpirun/flavor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace hvd::launcher {
namespace {

using ::testing::HasSubstr;

TEST(MpiFlavor, IsReadFromTheVersionText) {
  EXPECT_EQ(*flavor_of("mpirun (Open MPI) 4.1.4\n\nReport bugs to ...\n"),
            MpiFlavor::kOpenMpi4);
  EXPECT_EQ(*flavor_of("mpirun.real (OpenRTE) 3.1.3\n"), MpiFlavor::kOpenMpi4);
  EXPECT_EQ(*flavor_of("mpirun (Open MPI) 5.0.3\n"), MpiFlavor::kOpenMpi5);
  EXPECT_EQ(*flavor_of("mpirun (Open MPI) 10.0.0\n"), MpiFlavor::kOpenMpi5);
  EXPECT_EQ(*flavor_of("prterun (PRRTE) 3.0.2\n"), MpiFlavor::kOpenMpi5);
  EXPECT_EQ(*flavor_of("HYDRA build details:\n    Version:    4.0.2\n"),
            MpiFlavor::kMpich);
  EXPECT_EQ(*flavor_of("Intel(R) MPI Library for Linux* OS, Version 2021.9 "
                       "Build 20230307\nCopyright 2003-2023\n"),
            MpiFlavor::kIntel);
}

TEST(MpiFlavor, IsToldByTheNameOfTheProgramIfOnlyOneHasIt) {
  EXPECT_EQ(flavor_of_program("/usr/bin/orterun"), MpiFlavor::kOpenMpi4);
  for (const char* program : {"", "/usr/bin/mpirun", "/opt/bin/prterun",
                              "/usr/bin/mpiexec.hydra", "/orterun/mpirun"}) {
    EXPECT_EQ(flavor_of_program(program), std::nullopt) << program;
  }
}

TEST(MpiFlavor, QuotesAVersionTextItDoesNotKnow) {
  for (const char* text : {"", "mpirun 1.0 by a stranger"}) {
    const auto flavor = flavor_of(text);
    ASSERT_EQ(flavor.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(flavor.status().message()),
                ::testing::AllOf(HasSubstr("openmpi-bin"), HasSubstr(text)));
  }
}

}  // namespace
}  // namespace hvd::launcher
