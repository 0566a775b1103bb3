// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/command_line/shell_words.h"

#include <algorithm>
#include <initializer_list>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace hvd::launcher {
namespace {

using Words = std::vector<std::string>;

Words words_of(absl::string_view text) {
  return absl::StrSplit(text, absl::ByAnyChar(" \t"), absl::SkipEmpty());
}

std::string first_value(const Environment& environment,
                        std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const auto found = environment.find(name);
    if (found != environment.end() && !found->second.empty()) {
      return found->second;
    }
  }
  return "";
}

// Among mpirun's arguments: --mca NAME VALUE.
std::string first_value(const Words& arguments, absl::string_view name) {
  const auto found = std::find(arguments.begin(), arguments.end(), name);
  return found == arguments.end() || found + 1 == arguments.end() ? ""
                                                                  : found[1];
}

// The first alternative that is installed; colons separate alternatives.
Words first_installed(const std::string& text, const Environment& environment) {
  for (const absl::string_view alternative : absl::StrSplit(text, ':')) {
    Words words = words_of(alternative);
    if (!words.empty() && !find_program(words[0], environment).empty()) {
      return words;
    }
  }
  return {};
}

// Whether Open MPI starts its daemons by the scheduler.
bool connects_by_scheduler(const Arguments& arguments,
                           const Environment& environment) {
  if (absl::StrContains(first_value(environment, {"OMPI_MCA_plm"}), "rsh") ||
      absl::StrContains(first_value(arguments.mpi_arguments, "plm"), "rsh")) {
    return false;
  }
  return !first_value(environment,
                      {"SLURM_JOBID", "SLURM_JOB_ID", "LSB_JOBID", "PBS_JOBID"})
              .empty();
}

Words words_of_hydra(const Environment& environment) {
  const std::string launcher = first_value(environment, {"HYDRA_LAUNCHER"});
  const std::string program = first_value(environment, {"HYDRA_LAUNCHER_EXEC"});
  if (!launcher.empty() && launcher != "ssh") return {};
  return first_installed(program.empty() ? "ssh" : program, environment);
}

}  // namespace

Words users_agent(const Environment& environment) {
  const std::string chosen =
      first_value(environment, {"OMPI_MCA_plm_rsh_agent"});
  return first_installed(chosen.empty() ? "ssh:rsh" : chosen, environment);
}

Words open_mpi_shell(const Words& options, const Environment& environment) {
  std::string agent = first_value(options, "plm_rsh_agent");
  if (agent.empty()) agent = first_value(options, "plm_ssh_agent");
  if (agent.empty()) {
    agent = first_value(environment,
                        {"PRTE_MCA_plm_ssh_agent", "OMPI_MCA_plm_rsh_agent"});
  }
  Words words = first_installed(agent.empty() ? "ssh:rsh" : agent, environment);
  // As Open MPI does for an agent of this name.
  if (!words.empty() && words[0] == "ssh") words.emplace_back("-x");
  std::string added = first_value(options, "plm_rsh_args");
  if (added.empty()) added = first_value(options, "plm_ssh_args");
  if (added.empty()) {
    added = first_value(environment,
                        {"PRTE_MCA_plm_ssh_args", "OMPI_MCA_plm_rsh_args"});
  }
  for (std::string& word : words_of(added)) words.push_back(std::move(word));
  return words;
}

Words ssh_words(const Arguments& arguments, const Environment& environment) {
  Environment all = arguments.settings;
  all.insert(environment.begin(), environment.end());
  return open_mpi_shell(arguments.mpi_arguments, all);
}

Words shell_words(MpiFamily family, const Arguments& arguments,
                  const Environment& environment) {
  if (connects_by_scheduler(arguments, environment)) return {};
  if (family == MpiFamily::kOpenMpi) return ssh_words(arguments, environment);
  Environment all = arguments.settings;
  all.insert(environment.begin(), environment.end());
  return words_of_hydra(all);
}

}  // namespace hvd::launcher
