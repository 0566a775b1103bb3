// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/command_line/words.h"

#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "horovodpp/core/status.h"
#include "horovodrun/options/nearest.h"

namespace hvd::launcher {
namespace {

using Words = std::vector<std::string>;

absl::Status unknown(const std::string& name) {
  return absl::InvalidArgumentError(absl::StrCat(
      "unknown option '", name, "'",
      suggestion(nearest_option(name), "horovodrun --help"),
      "Options of the command come after it, and options of mpirun go into "
      "--mpi-args"));
}

// Adds the words of an option's value.
void add_words(const Option& option, const std::string& text, Words& words) {
  if (!option.adds_up) {
    words.push_back(text);
    return;
  }
  for (const absl::string_view word :
       absl::StrSplit(text, ',', absl::SkipEmpty())) {
    words.emplace_back(word);
  }
}

// Reads the option at words[next], and its value; moves `next` behind them.
absl::StatusOr<OptionValue> read_option(const Words& words, std::size_t& next) {
  const std::string& word = words[next++];
  const std::size_t equals = word.find('=');
  OptionValue value = {.source = word.substr(0, equals)};
  value.option = find_option(value.source);
  if (value.option == nullptr) return unknown(value.source);
  const Option& option = *value.option;
  const bool is_flag = option.type == ValueType::kFlag;
  if (equals != std::string::npos) {
    if (is_flag || option.values != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat(value.source,
                       is_flag ? " takes no value, but '" : " takes two, not '",
                       word.substr(equals + 1), "'"));
    }
    add_words(option, word.substr(equals + 1), value.words);
    return value;
  }
  for (int i = 0; !is_flag && i < option.values; ++i) {
    if (next == words.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat(value.source, " needs a value: ", option.value));
    }
    add_words(option, words[next++], value.words);
  }
  return value;
}

}  // namespace

absl::StatusOr<CommandLine> read_words(const Words& words) {
  CommandLine line;
  std::size_t next = 0;
  while (next < words.size() && words[next].size() > 1 &&
         words[next][0] == '-' && words[next] != "--") {
    HVD_ASSIGN_OR_RETURN(OptionValue value, read_option(words, next));
    HVD_RETURN_IF_ERROR(line.options.add(std::move(value)));
  }
  if (next < words.size() && words[next] == "--") ++next;
  line.command.assign(words.begin() + static_cast<std::ptrdiff_t>(next),
                      words.end());
  return line;
}

absl::StatusOr<Words> split_words(const std::string& text,
                                  const std::string& source) {
  Words words;
  bool in_word = false;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    const bool blank = c == ' ' || c == '\t' || c == '\n';
    if (quote == 0 && blank) {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == quote) {
      quote = 0;
    } else {
      if (c == '\\' && quote != '\'' && i + 1 < text.size()) c = text[++i];
      words.back().push_back(c);
    }
  }
  if (quote != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(source, " has a ", std::string(1, quote),
                     " that is not closed: ", text));
  }
  return words;
}

}  // namespace hvd::launcher
