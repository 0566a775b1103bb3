#include "horovodrun/environment.h"

#include <unistd.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

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
