// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/options/option.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "horovodrun/options/nearest.h"

namespace hvd::launcher {

const std::vector<const Option*>& all_options() {
  static const std::vector<const Option*> all = [] {
    std::vector<const Option*> options;
    for (const auto table :
         {launch_options(), setting_options(), torchrun_options()}) {
      for (const Option& option : table) options.push_back(&option);
    }
    return options;
  }();
  return all;
}

std::vector<absl::string_view> names_of(const Option& option) {
  return absl::StrSplit(option.names, ' ');
}

std::string main_name(const Option& option) {
  return std::string(names_of(option).front());
}

const Option* find_option(absl::string_view name) {
  const std::string wanted = absl::StartsWith(name, "--")
                                 ? absl::StrReplaceAll(name, {{"_", "-"}})
                                 : std::string(name);
  for (const Option* option : all_options()) {
    const std::vector<absl::string_view> names = names_of(*option);
    if (std::find(names.begin(), names.end(), wanted) != names.end()) {
      return option;
    }
  }
  return nullptr;
}

std::string nearest_option(absl::string_view name) {
  std::vector<absl::string_view> known;
  for (const Option* option : all_options()) {
    if (option->hidden || option->effect == Effect::kRefused) continue;
    for (const absl::string_view one : names_of(*option)) known.push_back(one);
  }
  return nearest(name, known);
}

std::string variables_text(const Option& option) {
  std::vector<std::string> names;
  for (const absl::string_view setting :
       absl::StrSplit(option.variable, ' ', absl::SkipEmpty())) {
    names.emplace_back(setting);
  }
  if (names.empty()) return "";
  return absl::StrCat("Sets ", absl::StrJoin(names, ", "), ".");
}

const char* title_of(OptionGroup group) {
  switch (group) {
    case OptionGroup::kRanks:
      return "Ranks and hosts";
    case OptionGroup::kStart:
      return "How ranks are started";
    case OptionGroup::kHosts:
      return "Connections between hosts";
    case OptionGroup::kOutput:
      return "Output of the ranks";
    case OptionGroup::kFailures:
      return "Failures";
    case OptionGroup::kTuning:
      return "Performance";
    case OptionGroup::kDiagnosis:
      return "Logs, stalls and timeline";
    case OptionGroup::kAbout:
      return "Help and information";
  }
  return "";
}

}  // namespace hvd::launcher
