// SPDX-License-Identifier: Apache-2.0
// The engine direct: ranks without MPI, on this host and, by ssh, on others.
// Its starter is horovodrun itself (starter.h).
#include <optional>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "horovodpp/core/status.h"
#include "horovodrun/command_line/shell_words.h"
#include "horovodrun/engines/direct/host_ranks.h"
#include "horovodrun/engines/direct/rank_agents.h"
#include "horovodrun/engines/direct/starter.h"
#include "horovodrun/engines/direct/starter_order.h"
#include "horovodrun/engines/engine.h"
#include "horovodrun/engines/srun/command.h"
#include "horovodrun/system/ssh_options.h"

namespace hvd::launcher {
namespace {

// On each host, the process on it counts its ranks.
absl::Status check_named_once(const std::vector<Host>& hosts) {
  std::set<std::string> names;
  for (const Host& host : hosts) {
    if (names.insert(host.name).second) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("host '", host.name,
                     "' is named twice; give all its slots at once, as in ",
                     host.name, ":2"));
  }
  return absl::OkStatus();
}

// The remote shell within an allocation of Slurm.
const std::vector<std::string> kSrun = {"srun",
                                        "--nodes=1",
                                        "--ntasks=1",
                                        "--overlap",
                                        "--mpi=none",
                                        "--cpu-bind=none",
                                        "--kill-on-bad-exit=0",
                                        "--quiet",
                                        "--unbuffered",
                                        "--export=ALL",
                                        "--nodelist"};

// An allocation's nodes need not admit ssh.
bool connects_by_srun(const Environment& environment) {
  return !value_in(environment, "SLURM_JOB_ID").empty() &&
         value_in(environment, "OMPI_MCA_plm_rsh_agent").empty() &&
         !find_program("srun", environment).empty();
}

class DirectEngine : public Engine {
 public:
  const char* name() const override { return "direct"; }

  absl::StatusOr<StartPlan> plan(const Arguments& arguments,
                                 const LaunchContext& context) const override {
    if (!arguments.mpi_arguments.empty()) {
      return absl::InvalidArgumentError(
          "without MPI there is no --mpi-args or --binding-args: leave it out, "
          "or start the ranks by mpirun (--mpi)");
    }
    const bool is_elastic = arguments.elastic.is_elastic();
    HVD_RETURN_IF_ERROR(
        check_named_once(is_elastic ? arguments.room : arguments.hosts));
    StarterOrder order = {.hosts = arguments.hosts,
                          .agent = agent_command(arguments, context)};
    if (order.hosts.empty()) order.hosts = {{"localhost", arguments.ranks}};
    StartPlan plan = {.added = common_variables(arguments, context),
                      .starter = "the process that starts the ranks",
                      .disguises_signals = true};
    if (is_elastic) {
      plan.added[kElastic] = absl::StrCat(arguments.elastic.most);
    }
    if (may_leave_this_host(arguments, context)) {
      HVD_RETURN_IF_ERROR(add_remote_shell(arguments, context, order, plan));
    }
    plan.argv = {context.agent, kStartRanks};
    const std::vector<std::string> words = to_words(order);
    plan.argv.insert(plan.argv.end(), words.begin(), words.end());
    return plan;
  }

  std::optional<Place> place(const Environment& environment) const override {
    return place_without_mpi(environment);
  }
  Environment without_rank(Environment environment) const override {
    return without_place(std::move(environment));
  }

  bool gives_terminal() const override { return true; }

  std::vector<Subcommand> subcommands() const override {
    return {{kStartRanks, run_starter}, {kStartRanksOfHost, run_ranks_of_host}};
  }

 private:
  // Whether ranks start on other hosts, or newcomers may.
  static bool may_leave_this_host(const Arguments& arguments,
                                  const LaunchContext& context) {
    const ElasticTerms& terms = arguments.elastic;
    return !terms.discovery.script.empty() ||
           !all_local(terms.is_elastic() ? arguments.room : arguments.hosts,
                      context.host_name);
  }

  // A missing ssh is an error if ranks of the start need it. Only their hosts
  // are asked before the start, by the plan's remote shell.
  static absl::Status add_remote_shell(const Arguments& arguments,
                                       const LaunchContext& context,
                                       StarterOrder& order, StartPlan& plan) {
    const bool starts_there = !all_local(order.hosts, context.host_name);
    plan.hosts_need_connections = true;
    add_interfaces(arguments, context, plan);
    if (connects_by_srun(context.environment)) {
      order.shell = kSrun;
      plan.noise = srun_noise();
      return absl::OkStatus();
    }
    const std::vector<std::string> shell =
        ssh_words(arguments, context.environment);
    if (!shell.empty()) order.shell = without_questions(shell);
    if (!starts_there) return absl::OkStatus();
    plan.remote_shell = shell;
    if (!shell.empty()) return absl::OkStatus();
    return absl::NotFoundError(
        "there is no ssh on the PATH, by which ranks start on other hosts (apt "
        "install openssh-client)");
  }

  static void add_interfaces(const Arguments& arguments,
                             const LaunchContext& context, StartPlan& plan) {
    constexpr char kInterfaces[] = "HOROVODPP_INTERFACES";
    if (arguments.network_interfaces.empty() ||
        context.environment.contains(kInterfaces)) {
      return;
    }
    plan.added[kInterfaces] = absl::StrJoin(arguments.network_interfaces, ",");
  }
};

}  // namespace

const Engine& direct_engine() {
  static const DirectEngine engine;
  return engine;
}

}  // namespace hvd::launcher
