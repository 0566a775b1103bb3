// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/engines/mpirun/flavor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace hvd::launcher {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using enum MpiFlavor;

TEST(MpiFlavor, IsReadFromTheVersionText) {
  for (const auto& [text, flavor] :
       {std::pair{"mpirun (Open MPI) 4.1.4\n\nReport bugs to ...\n", kOpenMpi4},
        std::pair{"mpirun.real (OpenRTE) 3.1.3\n", kOpenMpi4},
        std::pair{"mpirun (Open MPI) 5.0.3\n", kOpenMpi5},
        std::pair{"mpirun (Open MPI) 10.0.0\n", kOpenMpi5},
        std::pair{"prterun (PRRTE) 3.0.2\n", kOpenMpi5},
        std::pair{"HYDRA build details:\n    Version:    4.0.2\n", kMpich},
        std::pair{"Intel(R) MPI Library for Linux* OS, Version 2021.9 Build "
                  "20230307\nCopyright 2003-2023\n",
                  kIntel}}) {
    EXPECT_EQ(*flavor_of(text), flavor) << text;
  }
}

TEST(MpiFlavor, IsReadFromTheNameOfAProgramOfOneFlavor) {
  EXPECT_EQ(flavor_of_program("/usr/bin/orterun"), kOpenMpi4);
  for (const char* program : {"", "/usr/bin/mpirun", "/opt/bin/prterun",
                              "/usr/bin/mpiexec.hydra", "/orterun/mpirun"}) {
    EXPECT_EQ(flavor_of_program(program), std::nullopt) << program;
  }
}

TEST(MpiFlavor, QuotesAnUnknownVersionText) {
  for (const char* text : {"", "mpirun 1.0 by a stranger"}) {
    EXPECT_THAT(flavor_of(text).status().ToString(),
                AllOf(HasSubstr("FAILED_PRECONDITION"),
                      HasSubstr("openmpi-bin"), HasSubstr(text)));
  }
}

}  // namespace
}  // namespace hvd::launcher
