// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/engines/srun/command.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace hvd::launcher {
namespace {

// Remarks about ranks that ended, and about ranks that are not bound to cores.
constexpr NoisePattern kSrunNoise[] = {
    {"srun: cluster configuration lacks support for cpu binding", "", false},
    {"srun: error: ", ": task", false},
    {"srun: Job step aborted: ", "", false},
    {"slurmstepd: error: *** STEP ", " ***", false},
    {"slurmstepd-", ": error: *** STEP ", false},
};

// The node of each rank, in the order of ranks.
std::string node_of_each_rank(const std::vector<Host>& hosts,
                              const Environment& environment) {
  const std::string own_node = value_in(environment, "SLURMD_NODENAME");
  std::vector<std::string> nodes;
  for (const Host& host : hosts) {
    const bool renamed = host.name == "localhost" && !own_node.empty();
    nodes.insert(nodes.end(), static_cast<std::size_t>(host.slots),
                 renamed ? own_node : host.name);
  }
  return absl::StrJoin(nodes, ",");
}

bool chooses_mpi(const Arguments& arguments) {
  return std::any_of(
      arguments.mpi_arguments.begin(), arguments.mpi_arguments.end(),
      [](const std::string& argument) {
        return argument == "--mpi" || absl::StartsWith(argument, "--mpi=");
      });
}

}  // namespace

std::span<const NoisePattern> srun_noise() { return kSrunNoise; }

std::string step_name(pid_t launcher) {
  return absl::StrCat("horovodrun.", launcher);
}

std::vector<std::string> steps_named(const std::string& name,
                                     const std::string& listing) {
  std::vector<std::string> ids;
  for (const absl::string_view line : absl::StrSplit(listing, '\n')) {
    const std::pair<absl::string_view, absl::string_view> fields =
        absl::StrSplit(line, absl::MaxSplits(' ', 1));
    if (fields.second == name) ids.emplace_back(fields.first);
  }
  return ids;
}

absl::StatusOr<StartPlan> srun_plan(const Arguments& arguments,
                                    const LaunchContext& context,
                                    pid_t launcher, const std::string& mpi) {
  const std::vector<Host>& hosts = arguments.hosts;
  if (hosts.empty()) {
    return absl::InvalidArgumentError(
        "srun needs the hosts of the allocation, and this process knows none; "
        "name them by -H");
  }
  const bool by_sockets = hosts.size() == 1 && !chooses_mpi(arguments);
  StartPlan plan = {.added = common_variables(arguments, context),
                    .starter = "srun",
                    .disguises_signals = true,
                    .noise = kSrunNoise};
  plan.added[kStepVariable] = by_sockets ? kMeetsBySockets : "mpi";
  constexpr char kMpiInterfaces[] = "OMPI_MCA_btl_tcp_if_include";
  if (hosts.size() > 1 && !arguments.network_interfaces.empty() &&
      !context.environment.contains(kMpiInterfaces)) {
    plan.added[kMpiInterfaces] =
        absl::StrJoin(arguments.network_interfaces, ",");
  }
  // Ranks go where the hosts say, in their order, however many cores there are.
  // The end of one rank must not end the others before they have noticed it.
  plan.argv = {"srun",
               absl::StrCat("--ntasks=", arguments.ranks),
               absl::StrCat("--nodes=", hosts.size()),
               absl::StrCat("--nodelist=",
                            node_of_each_rank(hosts, context.environment)),
               "--distribution=arbitrary",
               "--overcommit",
               "--overlap",
               "--cpu-bind=none",
               "--kill-on-bad-exit=0",
               "--wait=0",
               "--input=0",
               "--export=ALL",
               "--quiet",
               absl::StrCat("--job-name=", step_name(launcher))};
  if (!chooses_mpi(arguments)) {
    plan.argv.push_back(absl::StrCat("--mpi=", by_sockets ? "none" : mpi));
  }
  for (const std::vector<std::string>& more :
       {arguments.mpi_arguments, agent_command(arguments, context)}) {
    plan.argv.insert(plan.argv.end(), more.begin(), more.end());
  }
  return plan;
}

}  // namespace hvd::launcher
