// SPDX-License-Identifier: Apache-2.0
// The engine srun: ranks are the tasks of a step in an allocation of Slurm.
#include <unistd.h>

#include <csignal>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "horovodrun/engines/engine.h"
#include "horovodrun/engines/mpirun/flavor.h"
#include "horovodrun/engines/srun/command.h"
#include "horovodrun/output/report.h"
#include "horovodrun/schedulers/slurm.h"
#include "horovodrun/system/process.h"

namespace hvd::launcher {
namespace {

// The PMI of the user's choice, or else of the installed MPI.
std::string pmi_for_hosts(const Environment& environment) {
  const std::string chosen = value_in(environment, "SLURM_MPI_TYPE");
  if (!chosen.empty() && chosen != "none") return chosen;
  const absl::StatusOr<MpiFlavor> flavor = installed_flavor();
  return flavor.ok() && !is_open_mpi(*flavor) ? "pmi2" : "pmix";
}

// The number of this node's tasks in the step.
int tasks_here(const Environment& environment) {
  const auto counts =
      expand_counts(value_in(environment, "SLURM_STEP_TASKS_PER_NODE"));
  const int node = number_in(environment, {"SLURM_NODEID"}, 0);
  if (!counts.ok() || node < 0 ||
      static_cast<std::size_t>(node) >= counts->size()) {
    return 1;
  }
  return (*counts)[static_cast<std::size_t>(node)];
}

// Whether srun sets the variable for a task or a step.
bool describes_task(const std::string& name) {
  for (const char* prefix : {"SLURM_STEP", "PMIX_", "PMI_"}) {
    if (absl::StartsWith(name, prefix)) return true;
  }
  for (const char* one :
       {"SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_GTIDS",
        "SLURM_TASK_PID", "SLURM_MPI_TYPE", "HOROVODPP_LAUNCHER"}) {
    if (name == one) return true;
  }
  return name == kStepVariable;
}

class SrunEngine : public Engine {
 public:
  const char* name() const override { return "srun"; }

  absl::StatusOr<StartPlan> plan(const Arguments& arguments,
                                 const LaunchContext& context) const override {
    if (find_program("srun", context.environment).empty()) {
      return absl::NotFoundError(
          "there is no srun on the PATH; Slurm's client programs have it (apt "
          "install slurm-client)");
    }
    if (value_in(context.environment, "SLURM_JOB_ID").empty()) {
      return absl::NotFoundError(
          "srun needs an allocation, and this process is in none: start "
          "horovodrun in a script of sbatch or in a shell of salloc");
    }
    const bool many = arguments.hosts.size() > 1;
    return srun_plan(arguments, context, getpid(),
                     many ? pmi_for_hosts(context.environment) : "none");
  }

  // srun ends ranks at SIGTERM without a warning, and passes SIGALRM on.
  int disguise(int signal) const override {
    return signal == SIGUSR1 || signal == SIGUSR2 ? signal : SIGALRM;
  }
  int signal_for_command(int signal,
                         const Environment& /*environment*/) const override {
    return signal == SIGALRM ? SIGTERM : signal;
  }

  // A step goes on without its srun.
  void clean_up_after_starter(pid_t /*starter*/,
                              const Environment& environment) const override {
    const std::string job = value_in(environment, "SLURM_JOB_ID");
    if (job.empty()) return;
    const Captured listing =
        capture({"squeue", "--steps", "--noheader", "--format=%i %j",
                 absl::StrCat("--jobs=", job)});
    for (const std::string& step :
         steps_named(step_name(getpid()), listing.text)) {
      capture({"scancel", "--signal=KILL", step});
    }
  }

  std::optional<Place> place(const Environment& environment) const override {
    const int rank = number_in(environment, {"SLURM_PROCID"}, -1);
    if (!environment.contains(kStepVariable) || rank < 0) return std::nullopt;
    return Place{.rank = rank,
                 .local_rank = number_in(environment, {"SLURM_LOCALID"}, 0),
                 .local_size = tasks_here(environment)};
  }

  Environment variables_of_rank(const Environment& environment) const override {
    if (value_in(environment, kStepVariable) != kMeetsBySockets) return {};
    const Place here = *place(environment);
    return {
        {"HOROVODPP_RENDEZVOUS",
         absl::StrCat("horovodrun.", value_in(environment, kTokenVariable))},
        {"HOROVOD_RANK", absl::StrCat(here.rank)},
        {"HOROVOD_LOCAL_RANK", absl::StrCat(here.local_rank)},
        {"HOROVOD_LOCAL_SIZE", absl::StrCat(here.local_size)}};
  }

  Environment without_rank(Environment environment) const override {
    if (environment.contains(kStepVariable)) {
      std::erase_if(environment, [](const auto& variable) {
        return describes_task(variable.first);
      });
    }
    return environment;
  }
};

}  // namespace

const Engine& srun_engine() {
  static const SrunEngine engine;
  return engine;
}

}  // namespace hvd::launcher
