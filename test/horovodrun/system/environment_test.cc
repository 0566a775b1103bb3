// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/system/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hvd::launcher {
namespace {

using ::testing::ElementsAre;

TEST(Environment, IsThatOfThisProcess) {
  EXPECT_FALSE(current_environment().at("PATH").empty());
}

TEST(Environment, BecomesStringsInOrder) {
  EXPECT_THAT(to_strings({{"B", "x=y"}, {"A", ""}}),
              ElementsAre("A=", "B=x=y"));
}

TEST(Environment, FindsProgramsOnItsPath) {
  const Environment environment = {{"PATH", "/nowhere::/bin:/usr/bin"}};
  EXPECT_EQ(find_program("sh", environment), "/bin/sh");
  EXPECT_EQ(find_program("/bin/sh", {}), "/bin/sh");
  EXPECT_EQ(find_program("sh", {}), "");
  EXPECT_EQ(find_program("nothing-of-that-name", environment), "");
  EXPECT_EQ(find_program("/etc/passwd", environment), "");
}

TEST(Environment, ReadsTheFirstNumber) {
  const Environment environment = {{"A", "x"}, {"B", "3"}, {"C", "4"}};
  EXPECT_EQ(number_in(environment, {"A", "none", "B", "C"}, -1), 3);
  EXPECT_EQ(number_in(environment, {"A", "none"}, -1), -1);
}

TEST(Environment, ExportsNoVariableOfOneHostOrShell) {
  const Environment environment = {{"A", "1"},
                                   {"BASH_FUNC_f%%", "() { :; }"},
                                   {"BASH_FUNC_g", "() { :; }"},
                                   {"CUDA_VISIBLE_DEVICES", "0"},
                                   {"HOROVOD_SIZE", "2"},
                                   {"HOSTNAME", "a"},
                                   {"MY_CUDA_VISIBLE_DEVICES", "0"},
                                   {"OLDPWD", "/"},
                                   {"OMPI_MCA_btl", "tcp"},
                                   {"PATH", "/bin"},
                                   {"PMIX_RANK", "0"},
                                   {"SSH_TTY", "/dev/pts/0"},
                                   {"_", "/bin/x"},
                                   {"_HOROVOD_SECRET_KEY", "x"},
                                   {"with.dot", "1"}};
  EXPECT_THAT(exportable_names(environment),
              ElementsAre("A", "HOROVOD_SIZE", "PATH"));
}

}  // namespace
}  // namespace hvd::launcher
