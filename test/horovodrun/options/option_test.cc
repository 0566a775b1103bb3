// SPDX-License-Identifier: Apache-2.0
// The rows of the table. trial_test.py tries each option with the built program.
#include "horovodrun/options/option.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "absl/strings/match.h"

namespace hvd::launcher {
namespace {

TEST(Options, HaveSoundRows) {
  std::set<std::string> names;
  std::set<std::string> keys;
  for (const Option* option : all_options()) {
    SCOPED_TRACE(option->names);
    for (const absl::string_view name : names_of(*option)) {
      EXPECT_TRUE(absl::StartsWith(name, "-"));
      EXPECT_TRUE(names.insert(std::string(name)).second) << name;
    }
    EXPECT_TRUE(absl::StartsWith(main_name(*option), "--"));
    EXPECT_NE(*option->help, '\0');
    EXPECT_NE(std::string(option->help).back(), '.');
    const bool is_flag = option->type == ValueType::kFlag;
    EXPECT_EQ(is_flag, *option->value == '\0');
    EXPECT_EQ(option->type == ValueType::kChoice, *option->choices != '\0');
    EXPECT_EQ(option->effect == Effect::kWorks, *option->words == '\0');
    const auto sets = [&](const std::string& text) {
      return text.empty() || is_flag == absl::StrContains(text, "=");
    };
    EXPECT_TRUE(sets(option->key));
    EXPECT_TRUE(sets(option->variable));
    EXPECT_TRUE(keys.insert(option->key).second || *option->key == '\0');
  }
  keys.erase("");
  // As many as Horovod has.
  std::set<std::string> distinct;
  for (const std::string& key : keys)
    distinct.insert(key.substr(0, key.find('=')));
  EXPECT_EQ(distinct.size(), 24u);
}

}  // namespace
}  // namespace hvd::launcher
