// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/options/help.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace hvd::launcher {
namespace {

constexpr int kWidth = 80;
constexpr int kHelpColumn = 34;

// Short names first.
std::vector<absl::string_view> sorted_names(const Option& option) {
  std::vector<absl::string_view> names = names_of(option);
  std::stable_sort(names.begin(), names.end(),
                   [](const auto& a, const auto& b) {
                     return a.size() <= 3 && b.size() > 3;
                   });
  return names;
}

std::string help_entry(const Option& option) {
  std::string line = absl::StrCat("  ", usage_of(option));
  if (line.size() + 2 > kHelpColumn) {
    absl::StrAppend(&line, "\n", std::string(kHelpColumn, ' '));
  } else {
    line.resize(kHelpColumn, ' ');
  }
  std::string help = option.help;
  if (*option.choices != '\0') {
    absl::StrAppend(&help, ": ",
                    absl::StrJoin(absl::StrSplit(option.choices, ' '), ", "));
  }
  return absl::StrCat(line, wrapped(help, kWidth - kHelpColumn, kHelpColumn),
                      "\n");
}

// The main names of the options with this effect.
std::string names_with(Effect effect) {
  std::vector<std::string> names;
  for (const Option* option : all_options()) {
    if (option->effect == effect) names.push_back(main_name(*option));
  }
  return absl::StrCat("  ", wrapped(absl::StrJoin(names, ", "), kWidth - 2, 2),
                      "\n");
}

}  // namespace

const Example kCommands[2] = {
    {"horovodrun doctor [-H HOSTS]",
     "check hosts, and the links between them, before a job"},
    {"horovodrun report FILE...",
     "tell from timelines where the time of a job goes"},
};

const Example kExamples[6] = {
    {"horovodrun -np 4 ./train", "four ranks on this host"},
    {"horovodrun --no-mpi -np 4 ./train", "the same, without MPI"},
    {"horovodrun -H node1:4,node2:4 ./train",
     "four ranks on each of two hosts"},
    {"horovodrun --nproc-per-node gpu python3 train.py",
     "a rank for each GPU of this host"},
    {"horovodrun -np 2 -m my_package.train --epochs 3", "a module of Python"},
    {"horovodrun -np 4 --max-restarts 3 --log-dir logs ./train",
     "up to three new starts after failures, and log files"},
};

std::string wrapped(absl::string_view text, int width, int indent) {
  std::string lines;
  std::size_t column = 0;
  for (const absl::string_view word : absl::StrSplit(text, ' ')) {
    if (column > 0 &&
        column + 1 + word.size() > static_cast<std::size_t>(width)) {
      absl::StrAppend(&lines, "\n",
                      std::string(static_cast<size_t>(indent), ' '));
      column = 0;
    }
    absl::StrAppend(&lines, column > 0 ? " " : "", word);
    column += word.size() + (column > 0 ? 1 : 0);
  }
  return lines;
}

std::string usage_of(const Option& option) {
  return absl::StrCat(absl::StrJoin(sorted_names(option), ", "),
                      *option.value == '\0' ? "" : " ", option.value);
}

std::string explanation_of(const Option& option) {
  std::string text = absl::StrCat(option.help, ".");
  if (*option.choices != '\0') {
    absl::StrAppend(&text, " One of ",
                    absl::StrJoin(absl::StrSplit(option.choices, ' '), ", "),
                    ".");
  }
  const std::string variables = variables_text(option);
  if (!variables.empty()) absl::StrAppend(&text, " ", variables);
  if (option.effect == Effect::kIgnored) {
    absl::StrAppend(&text, " No effect: ", option.words, ".");
  }
  if (option.effect == Effect::kRefused) {
    absl::StrAppend(&text, " Refused: ", option.words, ".");
  }
  return text;
}

std::string help_text() {
  std::string text =
      "Usage: horovodrun [options] command [arguments]\n\n"
      "Starts the ranks of a job, shows their output, and names the cause of a "
      "failure.\n";
  absl::StrAppend(&text, "\nOther commands:\n");
  for (const Example& command : kCommands) {
    absl::StrAppendFormat(&text, "  %s\n      %s\n", command.command,
                          command.purpose);
  }
  for (int group = 0; group <= static_cast<int>(OptionGroup::kAbout); ++group) {
    const auto shown = static_cast<OptionGroup>(group);
    absl::StrAppend(&text, "\n", title_of(shown), ":\n");
    for (const Option* option : all_options()) {
      if (option->group == shown && option->effect == Effect::kWorks &&
          !option->hidden) {
        absl::StrAppend(&text, help_entry(*option));
      }
    }
  }
  absl::StrAppend(&text, "\nWithout effect here (man horovodrun says why):\n",
                  names_with(Effect::kIgnored),
                  "\nRefused, with a message about what to do instead:\n",
                  names_with(Effect::kRefused), "\nExamples:\n");
  for (const Example& example : kExamples) {
    absl::StrAppendFormat(&text, "  %s\n      %s\n", example.command,
                          example.purpose);
  }
  return text;
}

}  // namespace hvd::launcher
