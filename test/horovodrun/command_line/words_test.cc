// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/command_line/words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace hvd::launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Words = std::vector<std::string>;

TEST(CommandLine, KeepsTheLastValueOfAnOption) {
  const auto line = read_words({"-np", "2", "--num-proc=3", "ls"});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->options.text("--num-proc"), "3");
  EXPECT_THAT(line->command, ElementsAre("ls"));
}

TEST(CommandLine, TakesUnderscoresAsTorchrunDoes) {
  const auto line = read_words({"--max_restarts", "2", "ls"});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->options.count("--max-restarts", 0), 2);
}

// Any words are either read or refused with a message.
TEST(CommandLine, ReadsOrRefusesAnyWords) {
  std::mt19937 random(1);
  const std::vector<const Option*>& options = all_options();
  const auto below = [&](std::size_t bound) { return random() % bound; };
  for (int round = 0; round < 20000; ++round) {
    Words words;
    for (std::size_t count = below(6); count > 0; --count) {
      const Option& option = *options[below(options.size())];
      const auto names = names_of(option);
      std::string word(names[below(names.size())]);
      switch (below(6)) {
        case 0:
          word = std::to_string(static_cast<int>(random()));
          break;
        case 1:
          word[below(word.size())] = static_cast<char>(below(256));
          break;
        case 2:
          word += "=";
          break;
        case 3:
          word += "=0:1,1:2";
          break;
        default:
          break;
      }
      words.push_back(word);
    }
    const auto line = read_words(words);
    if (!line.ok()) {
      EXPECT_EQ(line.status().code(), absl::StatusCode::kInvalidArgument);
      EXPECT_FALSE(line.status().message().empty());
    }
  }
}

TEST(SplitWords, FollowsTheShellsQuotes) {
  EXPECT_THAT(*split_words(" a  'b c'\"d\\\"e\"f \\  '' ", "--mpi-args"),
              ElementsAre("a", "b cd\"ef", " ", ""));
  EXPECT_THAT(*split_words("", "--mpi-args"), IsEmpty());
  EXPECT_THAT(std::string(split_words("'", "--mpi-args").status().message()),
              HasSubstr("--mpi-args has a ' that is not closed"));
}

}  // namespace
}  // namespace hvd::launcher
