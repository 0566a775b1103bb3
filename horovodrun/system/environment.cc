// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/system/environment.h"

#include <unistd.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace hvd::launcher {
namespace {

bool is_identifier(const std::string& name) {
  for (char c : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '_') {
      return false;
    }
  }
  return !name.empty();
}

bool is_exportable(const std::string& name) {
  if (!is_identifier(name)) return false;
  for (const char* prefix :
       {"BASH_FUNC_", "OMPI_", "PMIX_", "PMI_", "PRTE_", "SSH_"}) {
    if (absl::StartsWith(name, prefix)) return false;
  }
  for (const char* excluded :
       {"OLDPWD", "PWD", "SHLVL", "_", "HOSTNAME", "_HOROVOD_SECRET_KEY"}) {
    if (name == excluded) return false;
  }
  return !absl::EndsWith(name, "CUDA_VISIBLE_DEVICES");
}

}  // namespace

Environment current_environment() {
  Environment environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const size_t equals = text.find('=');
    if (equals == std::string::npos) continue;
    environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

std::string value_in(const Environment& environment, const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

int number_in(const Environment& environment,
              std::initializer_list<const char*> names, int fallback) {
  for (const char* name : names) {
    const auto found = environment.find(name);
    int number = 0;
    if (found != environment.end() &&
        absl::SimpleAtoi(found->second, &number)) {
      return number;
    }
  }
  return fallback;
}

std::string find_program(const std::string& program,
                         const Environment& environment) {
  const auto can_run = [](const std::string& file) {
    return ::access(file.c_str(), X_OK) == 0;
  };
  if (absl::StrContains(program, '/')) return can_run(program) ? program : "";
  const auto path = environment.find("PATH");
  if (path == environment.end()) return "";
  for (const absl::string_view folder :
       absl::StrSplit(path->second, ':', absl::SkipEmpty())) {
    const std::string file = absl::StrCat(folder, "/", program);
    if (can_run(file)) return file;
  }
  return "";
}

std::vector<std::string> to_strings(const Environment& environment) {
  std::vector<std::string> strings;
  for (const auto& [name, value] : environment) {
    strings.push_back(absl::StrCat(name, "=", value));
  }
  return strings;
}

std::vector<std::string> exportable_names(const Environment& environment) {
  std::vector<std::string> names;
  for (const auto& [name, value] : environment) {
    if (is_exportable(name)) names.push_back(name);
  }
  return names;
}

}  // namespace hvd::launcher
