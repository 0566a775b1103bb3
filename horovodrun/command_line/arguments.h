// SPDX-License-Identifier: Apache-2.0
// The command line of horovodrun as a value.
//
//   auto read = parse_arguments({"-np", "2", "./train", "--lr", "0.1"}, {});
//   read->command;   // {"./train", "--lr", "0.1"}
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodrun/command_line/hosts.h"
#include "horovodrun/output/line_prefix.h"
#include "horovodrun/output/log_file.h"
#include "horovodrun/system/environment.h"

namespace hvd::launcher {

// Variables by which agents learn of --debug-on-crash and --watch.
inline constexpr char kDebugVariable[] = "HOROVODRUN_DEBUG_ON_CRASH";
inline constexpr char kWatchVariable[] = "HOROVODPP_WATCH";

// How long a host gets no newcomers after failures there: the time doubles from
// the shortest to the longest.
struct Cooldown {
  std::chrono::milliseconds shortest{1000};
  std::chrono::milliseconds longest{60000};
  // Any failure of a rank counts, and the times are random to a part. Otherwise
  // newcomers that fail before they have joined count, and lost hosts.
  bool after_any_failure = false;
};

// The program that prints the hosts of an elastic job, again and again.
struct Discovery {
  std::vector<std::string> script{};  // With its arguments; empty: none.
  int slots_per_host = 1;             // Of a host that it names without slots.
};

// An elastic job goes on when ranks are lost, and newcomers replace them.
struct ElasticTerms {
  int least = 0;         // Ranks without which the job ends after `timeout`.
  int most = 0;          // Ranks; 0: the job is not elastic.
  int spares = 0;        // Newcomers that wait for a rank to be lost.
  int most_losses = -1;  // Lost ranks, after which the job ends; -1: any.
  std::chrono::milliseconds timeout{600000};
  Cooldown cooldown{};
  Discovery discovery{};
  // From SIGTERM to SIGKILL, for a rank that leaves.
  std::chrono::milliseconds leaving_time{5000};

  bool is_elastic() const { return most > 0; }
};

struct Arguments {
  int ranks = 0;
  std::vector<Host> hosts;  // As filled by `ranks`; empty: this host.
  std::vector<Host> room;   // All hosts, with all of their slots.
  std::string
      engine;  // Its name (engines/engine.h); empty: the first that fits.
  bool verbose = false;
  std::chrono::milliseconds start_timeout{30000};
  // The words of --binding-args, then the words of --mpi-args.
  std::vector<std::string> mpi_arguments;
  std::string output_filename;                  // Empty: none.
  std::vector<std::string> network_interfaces;  // Empty: mpirun chooses.
  PrefixStyle prefix;                           // Of lines.
  LogLimits log_limits;
  bool watches = false;  // Shows the ranks while the job runs.
  int max_restarts = 0;
  ElasticTerms elastic;
  std::vector<std::string> command;  // The program first.
  // Variables that options set for mpirun and the ranks; they override inherited
  // ones.
  Environment settings;
  std::vector<std::string> notes;  // Lines about options without effect.
  std::string answer;  // If not empty: print it (help, version) and exit.
};

// Reads the words after the program's name. The command begins with the first
// word that is not an option, and includes its own options. `environment`
// supplies HOROVOD_START_TIMEOUT; --hostfile and --config-file are read here.
// `scheduled` returns the hosts that a scheduler has chosen, or none. They are
// used if the command line names none; -np then defaults to all their slots.
// `discovered` runs a discovery script until its hosts have `least` slots.
//   InvalidArgument   with a text for the user
using HostSource = std::function<absl::StatusOr<std::vector<Host>>()>;
using HostDiscovery = std::function<absl::StatusOr<std::vector<Host>>(
    const Discovery& discovery, int least, std::chrono::milliseconds timeout)>;
absl::StatusOr<Arguments> parse_arguments(const std::vector<std::string>& words,
                                          const Environment& environment,
                                          const HostSource& scheduled = {},
                                          const HostDiscovery& discovered = {});

}  // namespace hvd::launcher
