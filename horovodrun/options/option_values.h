// SPDX-License-Identifier: Apache-2.0
// The values of options from one source, the command line or a file. Each value
// is checked when it is added.
//
//   OptionValues values;
//   values.add({find_option("-np"), {"2"}, "-np"});
//   values.text("--num-proc");   // "2"
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "horovodrun/options/option.h"
#include "horovodrun/system/environment.h"

namespace hvd::launcher {

struct OptionValue {
  const Option* option = nullptr;
  std::vector<std::string> words{};  // None for a flag.
  std::string source{};  // For messages: "-np", "params.cycle_time_ms".
};

class OptionValues {
 public:
  // A later value replaces an earlier one, unless the option adds up.
  //   InvalidArgument   the value does not fit, the option is refused, or
  //                     another one that was added excludes it
  absl::Status add(OptionValue value);

  // Adds those values of `weaker` that the values here leave open.
  void add_defaults(const OptionValues& weaker);

  bool has(absl::string_view main_name) const {
    return find(main_name) != nullptr;
  }
  // Null: the option is not given.
  const OptionValue* find(absl::string_view main_name) const;
  // The last word; "" if the option is not given.
  std::string text(absl::string_view main_name) const;
  // The value of a kCount.
  std::int64_t count(absl::string_view main_name, std::int64_t fallback) const;

  // The variables that the options set for ranks.
  Environment variables() const;
  // For each ignored option a line that says why.
  std::vector<std::string> notes() const;

 private:
  // The value that excludes this one, or null.
  const OptionValue* rival_of(const Option& option) const;

  std::map<const Option*, OptionValue> values_;
};

// Checks a value from any `source`, such as a variable.
absl::Status check_value(const Option& option, const std::string& word,
                         const std::string& source);

}  // namespace hvd::launcher
