// SPDX-License-Identifier: Apache-2.0
// The engine mpirun.
#include <csignal>
#include <utility>

#include "absl/strings/match.h"
#include "horovodpp/core/status.h"
#include "horovodrun/engines/engine.h"
#include "horovodrun/engines/mpirun/command.h"
#include "horovodrun/engines/mpirun/flavor.h"
#include "horovodrun/engines/mpirun/leftovers.h"
#include "horovodrun/engines/mpirun/node_keeper.h"
#include "horovodrun/engines/mpirun/remote_shell.h"

namespace hvd::launcher {
namespace {

bool is_under_hydra(const Environment& environment) {
  return environment.contains("HYDI_CONTROL_FD");
}

// Whether mpirun or its daemons set the variable to describe a rank and its
// job. False for the user's settings of MPI.
bool describes_rank(const std::string& name, const std::string& value) {
  for (const char* prefix :
       {"OMPI_COMM_WORLD_", "OMPI_MCA_ess", "OMPI_MCA_orte_", "PMIX_", "PMI_",
        "HYDI_", "MPI_LOCAL"}) {
    if (absl::StartsWith(name, prefix)) return true;
  }
  for (const char* one :
       {"OMPI_APP_CTX_NUM_PROCS", "OMPI_ARGV", "OMPI_COMMAND",
        "OMPI_FILE_LOCATION", "OMPI_FIRST_RANKS", "OMPI_NUM_APP_CTX",
        "OMPI_UNIVERSE_SIZE", "OMPI_MCA_initial_wdir", "OMPI_MCA_pmix",
        "OMPI_MCA_mpi_oversubscribe", "OMPI_MCA_shmem_RUNTIME_QUERY_hint",
        "HOROVODPP_LAUNCHER"}) {
    if (name == one) return true;
  }
  // Set by horovodrun for a job on one host.
  return absl::EndsWith(name, "_tcp_if_include") && value == "lo";
}

class MpirunEngine : public Engine {
 public:
  const char* name() const override { return "mpirun"; }

  absl::StatusOr<StartPlan> plan(const Arguments& arguments,
                                 const LaunchContext& context) const override {
    HVD_ASSIGN_OR_RETURN(const MpiFlavor flavor, installed_flavor());
    return mpirun_plan(flavor, arguments, context);
  }

  void clean_up_after_starter(pid_t starter,
                              const Environment& environment) const override {
    remove_mpirun_leftovers(starter, mpirun_directory(environment));
  }

  std::optional<Place> place(const Environment& environment) const override {
    const int rank = number_in(
        environment, {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}, -1);
    if (rank < 0) return std::nullopt;
    return Place{.rank = rank,
                 .local_rank = number_in(
                     environment,
                     {"HOROVOD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK",
                      "MPI_LOCALRANKID"},
                     0),
                 .local_size = number_in(
                     environment,
                     {"HOROVOD_LOCAL_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE",
                      "MPI_LOCALNRANKS"},
                     1)};
  }

  Environment without_rank(Environment environment) const override {
    if (environment.contains("OMPI_COMM_WORLD_RANK") ||
        is_under_hydra(environment)) {
      std::erase_if(environment, [](const auto& variable) {
        return describes_rank(variable.first, variable.second);
      });
    }
    return environment;
  }

  int signal_for_command(int signal,
                         const Environment& environment) const override {
    // Hydra announces a peer's end by SIGUSR1, which would kill most programs.
    if (signal == SIGUSR1 && is_under_hydra(environment)) return 0;
    return Engine::signal_for_command(signal, environment);
  }

  void clean_up_after_rank(const Environment& environment) const override {
    remove_mpi_leftovers(environment);
  }
  void clean_up_after_daemon(const Environment& environment) const override {
    remove_daemon_leftovers(environment);
  }

  std::vector<Subcommand> subcommands() const override {
    return {{"--remote-shell", run_remote_shell}, {"--node", run_node_keeper}};
  }
};

}  // namespace

const Engine& mpirun_engine() {
  static const MpirunEngine engine;
  return engine;
}

}  // namespace hvd::launcher
