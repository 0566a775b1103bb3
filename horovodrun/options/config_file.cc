// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/options/config_file.h"

#include <yaml-cpp/yaml.h>

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "horovodpp/core/status.h"
#include "horovodrun/options/nearest.h"

namespace hvd::launcher {
namespace {

// The part of a row's key before '='.
absl::string_view key_of(const Option& option) {
  const absl::string_view key = option.key;
  return key.substr(0, key.find('='));
}

// Whether `key` is the name of a section.
bool is_section(const std::string& key) {
  for (const Option* option : all_options()) {
    if (absl::StartsWith(option->key, absl::StrCat(key, "."))) return true;
  }
  return false;
}

absl::Status unknown_key(const std::string& key) {
  std::vector<absl::string_view> known;
  for (const Option* option : all_options()) {
    if (*option->key != '\0') known.push_back(key_of(*option));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown key '", key, "'",
                   suggestion(nearest(key, known), "man horovodrun")));
}

// The option that `text` turns on or off, or null.
const Option* flag_of(const std::string& key, const YAML::Node& value) {
  bool on = false;
  const bool is_bool = YAML::convert<bool>::decode(value, on);
  for (const absl::string_view text :
       {absl::string_view(value.Scalar()),
        absl::string_view(on ? "true" : "false")}) {
    const std::string wanted = absl::StrCat(key, "=", text);
    for (const Option* option : all_options()) {
      if (wanted == option->key) return option;
    }
    if (!is_bool) break;
  }
  return nullptr;
}

absl::Status add_flag(const std::string& key, const YAML::Node& value,
                      OptionValues& values) {
  const Option* flag = flag_of(key, value);
  if (flag != nullptr) {
    return values.add(
        {.option = flag, .source = absl::StrCat(key, ": ", value.Scalar())});
  }
  std::string choices;
  for (const Option* option : all_options()) {
    if (key_of(*option) != key) continue;
    absl::StrAppend(&choices, choices.empty() ? "" : " or ",
                    absl::string_view(option->key).substr(key.size() + 1));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(key, " is '", value.Scalar(), "'; write ", choices));
}

absl::Status add_key(const std::string& key, const YAML::Node& value,
                     OptionValues& values) {
  const Option* known = nullptr;
  for (const Option* option : all_options()) {
    if (*option->key != '\0' && key_of(*option) == key) known = option;
  }
  if (known == nullptr) return unknown_key(key);
  if (value.IsNull()) return absl::OkStatus();
  if (!value.IsScalar()) {
    return absl::InvalidArgumentError(
        absl::StrCat(key, " has several values; write one"));
  }
  if (known->type == ValueType::kFlag) return add_flag(key, value, values);
  return values.add(
      {.option = known, .words = {value.Scalar()}, .source = key});
}

absl::Status add_section(const std::string& section, const YAML::Node& keys,
                         OptionValues& values) {
  if (keys.IsNull()) return absl::OkStatus();
  if (!keys.IsMap()) {
    return absl::InvalidArgumentError(
        absl::StrCat(section, " is a section; write its keys below it"));
  }
  for (const auto& entry : keys) {
    HVD_RETURN_IF_ERROR(
        add_key(absl::StrCat(section, ".", entry.first.as<std::string>()),
                entry.second, values));
  }
  return absl::OkStatus();
}

absl::StatusOr<OptionValues> read_document(const YAML::Node& document) {
  OptionValues values;
  if (document.IsNull()) return values;
  if (!document.IsMap()) {
    return absl::InvalidArgumentError(
        "no keys are found; write lines such as 'controller: mpi'");
  }
  for (const auto& entry : document) {
    const auto key = entry.first.as<std::string>();
    HVD_RETURN_IF_ERROR(is_section(key) ? add_section(key, entry.second, values)
                                        : add_key(key, entry.second, values));
  }
  return values;
}

}  // namespace

absl::StatusOr<OptionValues> parse_config(const std::string& text) {
  try {
    return read_document(YAML::Load(text));
  } catch (const YAML::Exception& error) {
    return absl::InvalidArgumentError(
        absl::StrCat("line ", error.mark.line + 1, ": ", error.msg));
  }
}

}  // namespace hvd::launcher
