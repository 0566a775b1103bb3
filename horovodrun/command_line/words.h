// SPDX-License-Identifier: Apache-2.0
// The words of a command line: options, then the command with its own options.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodrun/options/option_values.h"

namespace hvd::launcher {

struct CommandLine {
  OptionValues options;
  std::vector<std::string> command;
};

// Reads the words after the program's name. The command begins with the first
// word that is not an option, or after "--".
//   InvalidArgument   an option is unknown, lacks its value, or is not accepted
absl::StatusOr<CommandLine> read_words(const std::vector<std::string>& words);

// Splits `text` into words as a shell does: at blanks, except within quotes and
// after backslashes. `source` is the option with the text.
//   InvalidArgument   a quote is not closed
absl::StatusOr<std::vector<std::string>> split_words(const std::string& text,
                                                     const std::string& source);

}  // namespace hvd::launcher
