// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/options/option_values.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "horovodpp/core/status.h"

namespace hvd::launcher {
namespace {

using Names = std::vector<absl::string_view>;

absl::Status misfit(const std::string& source, absl::string_view word,
                    const std::string& wanted) {
  return absl::InvalidArgumentError(
      absl::StrCat(source, " is '", word, "'; give ", wanted));
}

std::string range_of(const Option& option) {
  const std::string least = absl::StrCat(option.least);
  return option.most == kAnyNumber
             ? absl::StrCat("of at least ", least)
             : absl::StrCat("from ", least, " to ",
                            static_cast<std::int64_t>(option.most));
}

bool is_count(absl::string_view word, const Option& option) {
  std::int64_t count = 0;
  return absl::SimpleAtoi(word, &count) &&
         static_cast<double>(count) >= option.least &&
         static_cast<double>(count) <= option.most;
}

bool is_number(const std::string& word, const Option& option) {
  double number = 0;
  return absl::SimpleAtod(word, &number) && number >= option.least &&
         number <= option.most;
}

Names choices_of(const Option& option) {
  return absl::StrSplit(option.choices, ' ');
}

bool is_choice(absl::string_view word, const Option& option) {
  const Names choices = choices_of(option);
  return std::any_of(choices.begin(), choices.end(), [&](const auto& choice) {
    return absl::EqualsIgnoreCase(choice, word);
  });
}

bool are_counts(absl::string_view text, const Option& option) {
  const Names words = absl::StrSplit(text, ',');
  return std::all_of(words.begin(), words.end(),
                     [&](const auto& word) { return is_count(word, option); });
}

// The word as a variable's value.
std::string normalized(const Option& option, const std::string& word) {
  std::int64_t count = 0;
  if (option.type == ValueType::kCount && absl::SimpleAtoi(word, &count)) {
    return absl::StrCat(count * static_cast<std::int64_t>(option.unit));
  }
  return std::string(absl::StripAsciiWhitespace(word));
}

bool is_harmless(const OptionValue& value) {
  const Names harmless = absl::StrSplit(value.option->harmless, ' ');
  return value.words.size() == 1 && std::find(harmless.begin(), harmless.end(),
                                              value.words[0]) != harmless.end();
}

}  // namespace

absl::Status check_value(const Option& option, const std::string& word,
                         const std::string& source) {
  switch (option.type) {
    case ValueType::kFlag:
      return absl::OkStatus();
    case ValueType::kText:
    case ValueType::kFile:
      // The system would cut a text off there.
      return absl::StrContains(word, '\0')
                 ? misfit(source, absl::CHexEscape(word),
                          "a text without null characters")
                 : absl::OkStatus();
    case ValueType::kCount:
      return is_count(word, option)
                 ? absl::OkStatus()
                 : misfit(source, word,
                          absl::StrCat("a whole number ", range_of(option)));
    case ValueType::kNumber:
      return is_number(word, option)
                 ? absl::OkStatus()
                 : misfit(source, word,
                          absl::StrCat("a number ", range_of(option)));
    case ValueType::kChoice:
      return is_choice(word, option)
                 ? absl::OkStatus()
                 : misfit(
                       source, word,
                       absl::StrCat("one of ",
                                    absl::StrJoin(choices_of(option), ", ")));
    case ValueType::kCounts:
      return are_counts(word, option)
                 ? absl::OkStatus()
                 : misfit(source, word,
                          "whole numbers, separated by commas, as in 0,1");
  }
  return absl::OkStatus();
}

const OptionValue* OptionValues::rival_of(const Option& option) const {
  const absl::string_view group = option.one_of;
  if (group.empty()) return nullptr;
  for (const auto& [other, value] : values_) {
    if (other != &option && other->one_of == group) return &value;
  }
  return nullptr;
}

absl::Status OptionValues::add(OptionValue value) {
  const Option& option = *value.option;
  if (option.effect == Effect::kRefused && !is_harmless(value)) {
    return absl::InvalidArgumentError(
        absl::StrCat(value.source, " is not supported: ", option.words));
  }
  for (const std::string& word : value.words) {
    HVD_RETURN_IF_ERROR(check_value(option, word, value.source));
  }
  if (const OptionValue* rival = rival_of(option)) {
    return absl::InvalidArgumentError(absl::StrCat(
        rival->source, " and ", value.source, " exclude each other (",
        option.one_of, "); give one of them"));
  }
  OptionValue& present = values_[&option];
  if (option.adds_up) {
    value.words.insert(value.words.begin(), present.words.begin(),
                       present.words.end());
  }
  present = std::move(value);
  return absl::OkStatus();
}

void OptionValues::add_defaults(const OptionValues& weaker) {
  for (const auto& [option, value] : weaker.values_) {
    if (rival_of(*option) == nullptr) values_.emplace(option, value);
  }
}

const OptionValue* OptionValues::find(absl::string_view main_name) const {
  const auto found = values_.find(find_option(main_name));
  return found == values_.end() ? nullptr : &found->second;
}

std::string OptionValues::text(absl::string_view main_name) const {
  const OptionValue* value = find(main_name);
  return value == nullptr || value->words.empty() ? "" : value->words.back();
}

std::int64_t OptionValues::count(absl::string_view main_name,
                                 std::int64_t fallback) const {
  std::int64_t count = 0;
  return absl::SimpleAtoi(text(main_name), &count) ? count : fallback;
}

Environment OptionValues::variables() const {
  Environment variables;
  for (const auto& [option, value] : values_) {
    for (const absl::string_view setting :
         absl::StrSplit(option->variable, ' ', absl::SkipEmpty())) {
      const std::pair<std::string, std::string> parts =
          absl::StrSplit(setting, absl::MaxSplits('=', 1));
      variables[parts.first] = value.words.empty()
                                   ? parts.second
                                   : normalized(*option, value.words.back());
    }
  }
  return variables;
}

std::vector<std::string> OptionValues::notes() const {
  std::vector<std::string> notes;
  for (const Option* option : all_options()) {
    const auto found = values_.find(option);
    if (found == values_.end() || option->effect != Effect::kIgnored) continue;
    notes.push_back(
        absl::StrCat(found->second.source, " has no effect: ", option->words));
  }
  return notes;
}

}  // namespace hvd::launcher
