// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/options/manual.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/str_split.h"
#include "horovodrun/options/help.h"
#include "horovodrun/options/option.h"

namespace hvd::launcher {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kPage[] = HVD_SOURCE "/docs/horovodrun_options.md";

std::string page_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(OptionsPage, HasTheTablesOfTheBuild) {
  EXPECT_THAT(page_text(kPage), HasSubstr(options_table()))
      << "replace the tables of " << kPage
      << " by the output of horovodrun --print table";
}

TEST(Manual, DescribesEachOption) {
  const std::string page = manual_page();
  for (const Option* option : all_options()) {
    std::string name = main_name(*option);
    for (std::size_t at = 0; (at = name.find('-', at)) != std::string::npos;
         at += 2) {
      name.insert(at, "\\");
    }
    EXPECT_EQ(page.find(name) != std::string::npos, !option->hidden) << name;
  }
}

TEST(Help, ListsWhatWorksWithinTheWidthOfATerminal) {
  const std::string help = help_text();
  for (const Option* option : all_options()) {
    if (option->hidden) continue;
    EXPECT_THAT(help, HasSubstr(main_name(*option)));
  }
  EXPECT_THAT(help, Not(HasSubstr("--print")));
  for (const auto line : absl::StrSplit(help, '\n')) {
    EXPECT_LE(line.size(), 80u) << line;
  }
  EXPECT_THAT(help, HasSubstr("horovodrun -np 4 ./train"));
  EXPECT_THAT(help, HasSubstr("horovodrun doctor"));
  EXPECT_THAT(help, HasSubstr("horovodrun report FILE..."));
}

TEST(Help, WrapsWords) {
  EXPECT_EQ(wrapped("one two three", 7, 2), "one two\n  three");
  EXPECT_EQ(wrapped("incomprehensible", 5, 0), "incomprehensible");
}

}  // namespace
}  // namespace hvd::launcher
