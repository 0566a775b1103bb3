// SPDX-License-Identifier: Apache-2.0
// The texts about options, from the table (option.h).
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "horovodrun/options/option.h"

namespace hvd::launcher {

// The text of --help: the options that work, by group, then examples.
std::string help_text();

// "-np, -n, --num-proc N".
std::string usage_of(const Option& option);

// One line for people: the help, the variables, and why an option has no effect
// or is refused.
std::string explanation_of(const Option& option);

// Runs of horovodrun, and their purpose.
struct Example {
  const char* command;
  const char* purpose;
};
extern const Example kExamples[6];
// Runs that start no job.
extern const Example kCommands[2];

// Breaks `text` into lines of at most `width` characters where words allow it;
// each line but the first begins with `indent` blanks.
std::string wrapped(absl::string_view text, int width, int indent);

}  // namespace hvd::launcher
