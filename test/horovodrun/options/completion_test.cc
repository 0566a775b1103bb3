// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/options/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "horovodrun/options/option.h"
#include "horovodrun/system/process.h"

namespace hvd::launcher {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// The words that bash offers for the last of `words`.
std::string offered(const std::string& words, int word) {
  return capture({"bash", "-c",
                  bash_completion() + "\nCOMP_WORDS=(" + words +
                      ")\nCOMP_CWORD=" + std::to_string(word) +
                      "\n_horovodrun\necho \"${COMPREPLY[@]}\""})
      .text;
}

TEST(BashCompletion, OffersOptions) {
  EXPECT_EQ(offered("horovodrun --fus", 1), "--fusion-threshold-mb\n");
  EXPECT_THAT(offered("horovodrun -np 2 --hier", 3),
              AllOf(HasSubstr("--hierarchical-allreduce"),
                    HasSubstr("--hierarchical-allgather")));
  EXPECT_EQ(offered("horovodrun --jsr", 1), "\n");  // Refused.
}

TEST(BashCompletion, OffersValues) {
  EXPECT_EQ(offered("horovodrun --log-level W", 2), "WARNING\n");
  EXPECT_EQ(offered("horovodrun --hostfile /proc/meminf", 2),
            "/proc/meminfo\n");
  EXPECT_EQ(offered("horovodrun -np ''", 2), "\n");
}

TEST(BashCompletion, LeavesTheOptionsOfTheCommandAlone) {
  EXPECT_EQ(offered("horovodrun -np 2 ./train --fus", 4), "\n");
}

TEST(ZshCompletion, OffersOptions) {
  const std::string script = zsh_completion();
  for (const Option* option : all_options()) {
    const bool is_offered =
        !option->hidden && option->effect != Effect::kRefused;
    EXPECT_EQ(
        script.find("'" + main_name(*option) + "[") != std::string::npos ||
            script.find("'*" + main_name(*option) + "[") != std::string::npos,
        is_offered)
        << option->names;
  }
  EXPECT_THAT(script, HasSubstr(":LEVEL:(TRACE DEBUG INFO"));
  EXPECT_THAT(script, Not(HasSubstr("[[")));
}

}  // namespace
}  // namespace hvd::launcher
