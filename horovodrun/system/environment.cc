// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/system/environment.h"

#include <unistd.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "horovodrun/engines/local/rank_starter.h"

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

// Whether mpirun or its daemons set the variable to describe a rank and its
// job. False for the user's settings of MPI.
bool says_what_rank_it_is(const std::string& name, const std::string& value) {
  for (const char* prefix :
       {"OMPI_COMM_WORLD_", "OMPI_MCA_ess", "OMPI_MCA_orte_", "PMIX_", "PMI_",
        "HYDI_", "MPI_LOCAL"}) {
    if (absl::StartsWith(name, prefix)) return true;
  }
  for (const char* mine :
       {"OMPI_APP_CTX_NUM_PROCS", "OMPI_ARGV", "OMPI_COMMAND",
        "OMPI_FILE_LOCATION", "OMPI_FIRST_RANKS", "OMPI_NUM_APP_CTX",
        "OMPI_UNIVERSE_SIZE", "OMPI_MCA_initial_wdir", "OMPI_MCA_pmix",
        "OMPI_MCA_mpi_oversubscribe", "OMPI_MCA_shmem_RUNTIME_QUERY_hint",
        "HOROVODPP_LAUNCHER"}) {
    if (name == mine) return true;
  }
  // Set by horovodrun for a job on one host.
  return absl::EndsWith(name, "_tcp_if_include") && value == "lo";
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

Environment outside_of_jobs(const Environment& environment) {
  if (is_in_local_job(environment)) {
    Environment outside = without_local_rank(environment);
    outside.erase("HOROVODPP_LAUNCHER");
    return outside;
  }
  if (!environment.contains("OMPI_COMM_WORLD_RANK") &&
      !environment.contains("HYDI_CONTROL_FD")) {
    return environment;
  }
  Environment outside = environment;
  std::erase_if(outside, [](const auto& variable) {
    return says_what_rank_it_is(variable.first, variable.second);
  });
  return outside;
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
