// SPDX-License-Identifier: Apache-2.0
// An Option is a row of the table of horovodrun's options. The command line, the
// keys of --config-file, --help, completions, the manual page and the table in
// docs/horovodrun_options.md all follow from the rows.
//
//   const Option* option = find_option("-np");
//   main_name(*option);   // "--num-proc"
//
// To add an option: a row in launch_options.cc, setting_options.cc or
// torchrun_options.cc. If horovodrun itself acts on it, arguments.cc reads its
// value.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace hvd::launcher {

enum class OptionGroup {
  kRanks,
  kStart,
  kHosts,
  kOutput,
  kFailures,
  kTuning,
  kDiagnosis,
  kAbout,
};

enum class ValueType {
  kFlag,    // No value.
  kText,    // Any words.
  kFile,    // A path.
  kCount,   // A whole number.
  kNumber,  // A number, such as 2.5.
  kChoice,  // One of `choices`, in any case.
  kCounts,  // Whole numbers, separated by commas.
};

enum class Effect {
  kWorks,    // horovodrun acts on it, or it sets `variable` for the ranks.
  kIgnored,  // Likewise, but no rank reads the variable; `words` say why.
  kRefused,  // `words` say what to do instead.
};

inline constexpr double kAnyNumber = 1e15;

// In the order in which a row reads well.
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding)
struct Option {
  const char* names;  // Separated by blanks, the main one first.
  OptionGroup group;
  const char* help;
  ValueType type = ValueType::kFlag;
  const char* value = "";  // The value's name in texts.
  double least = 0;
  double most = kAnyNumber;
  const char* choices = "";  // Separated by blanks.
  int values = 1;            // Words that follow, unless it is a flag.
  bool adds_up = false;      // All occurrences count, not only the last.
  // The variable that gets the value, or for flags NAME=VALUE, maybe several,
  // separated by blanks.
  const char* variable = "";
  double unit = 1;  // The variable gets the value times `unit`.
  // The key of --config-file, as "section.key". For flags key=value, which
  // stands for the flag.
  const char* key = "";
  // Options with the same text here exclude each other.
  const char* one_of = "";
  Effect effect = Effect::kWorks;
  const char* words = "";
  // A value that means what happens anyway, so that it is not refused.
  const char* harmless = "";
  bool of_torchrun = false;
  bool hidden = false;  // Works, and no text lists it.
};

// The tables.
std::span<const Option> launch_options();
std::span<const Option> setting_options();
std::span<const Option> torchrun_options();

// All of them, in that order.
const std::vector<const Option*>& all_options();

// The option with this name; null: none. As torchrun does, takes '_' for '-'.
const Option* find_option(absl::string_view name);

// The closest name of an option that can be given; "" if none is close.
std::string nearest_option(absl::string_view name);

std::vector<absl::string_view> names_of(const Option& option);
std::string main_name(const Option& option);
// "Sets HOROVOD_CYCLE_TIME."; "" if it sets no variable.
std::string variables_text(const Option& option);

// The title of a group in texts.
const char* title_of(OptionGroup group);

}  // namespace hvd::launcher
