// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "horovodpp/core/status.h"
#include "horovodrun/engines/engine.h"
#include "horovodrun/output/rank_files.h"
#include "horovodrun/output/report.h"

namespace hvd::launcher {

const Engine& mpirun_engine();
const Engine& direct_engine();
const Engine& srun_engine();

const std::vector<const Engine*>& engines() {
  static const std::vector<const Engine*> all = {
      &mpirun_engine(),
      &direct_engine(),
      &srun_engine(),
  };
  return all;
}

absl::StatusOr<StartPlan> plan_start(const Arguments& arguments,
                                     const LaunchContext& context) {
  absl::Status refusal;
  for (const Engine* engine : engines()) {
    if (!arguments.engine.empty() && arguments.engine != engine->name()) {
      continue;
    }
    absl::StatusOr<StartPlan> plan = engine->plan(arguments, context);
    if (plan.ok()) {
      plan->engine = engine;
      return plan;
    }
    if (refusal.ok()) refusal = plan.status();
    if (!absl::IsNotFound(refusal)) break;
  }
  if (!refusal.ok()) return refusal;
  return absl::InvalidArgumentError(absl::StrCat(
      "there is no engine '", arguments.engine, "'; there are ",
      absl::StrJoin(engines(), ", ", [](std::string* out, const Engine* one) {
        absl::StrAppend(out, one->name());
      })));
}

// Asks the last engine first: a rank that it starts may have inherited the
// variables of an earlier engine's.
const Engine* engine_of_rank(const Environment& environment) {
  const auto found = std::find_if(
      engines().rbegin(), engines().rend(),
      [&](const Engine* engine) { return engine->place(environment); });
  return found == engines().rend() ? nullptr : *found;
}

Environment outside_of_jobs(Environment environment) {
  for (const Engine* engine : engines()) {
    environment = engine->without_rank(std::move(environment));
  }
  return environment;
}

std::optional<int> run_subcommand(const std::vector<std::string>& words) {
  if (words.empty()) return std::nullopt;
  for (const Engine* engine : engines()) {
    for (const Engine::Subcommand& subcommand : engine->subcommands()) {
      if (words[0] != subcommand.name) continue;
      return subcommand.run({words.begin() + 1, words.end()});
    }
  }
  return std::nullopt;
}

Environment common_variables(const Arguments& arguments,
                             const LaunchContext& context) {
  Environment variables = arguments.settings;
  variables["HOROVOD_SIZE"] = absl::StrCat(arguments.ranks);
  variables["HOROVOD_LAUNCHER"] = "horovodrun";
  variables[kTokenVariable] = context.token;
  if (!arguments.network_interfaces.empty()) {
    variables["NCCL_SOCKET_IFNAME"] =
        absl::StrJoin(arguments.network_interfaces, ",");
  }
  if (!arguments.output_filename.empty()) {
    // Ranks of other hosts may run in another folder.
    std::error_code error;
    variables[kFilesVariable] =
        std::filesystem::absolute(arguments.output_filename, error);
    add_log_limits(arguments.log_limits, variables);
  }
  if (arguments.prefix.is_on) {
    variables[kPrefixVariable] = to_word(arguments.prefix);
  }
  return variables;
}

std::vector<std::string> agent_command(const Arguments& arguments,
                                       const LaunchContext& context) {
  std::vector<std::string> words = {context.agent, "--agent"};
  if (arguments.verbose) words.push_back("--verbose");
  words.push_back("--");
  words.insert(words.end(), arguments.command.begin(), arguments.command.end());
  return words;
}

int refuse_user(const char* subcommand) {
  std::fputs(
      absl::StrCat("horovodrun: ", subcommand, " is not for users\n").c_str(),
      stderr);
  return 2;
}

int disguised_signal(int signal) {
  if (signal == SIGUSR1 || signal == SIGUSR2) return signal;
  return signal == SIGINT ? SIGALRM : SIGABRT;
}

int Engine::disguise(int signal) const { return disguised_signal(signal); }

int Engine::signal_for_command(int signal, const Environment&) const {
  if (signal == SIGALRM) return SIGINT;
  return signal == SIGABRT ? SIGTERM : signal;
}

}  // namespace hvd::launcher
