// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/command_line/arguments.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"
#include "horovodrun/command_line/check_build.h"
#include "horovodrun/command_line/elastic_options.h"
#include "horovodrun/command_line/hidden_streams.h"
#include "horovodrun/command_line/output_options.h"
#include "horovodrun/command_line/ranks_of_host.h"
#include "horovodrun/command_line/words.h"
#include "horovodrun/node/flight_recorder.h"
#include "horovodrun/options/completion.h"
#include "horovodrun/options/config_file.h"
#include "horovodrun/options/help.h"
#include "horovodrun/options/manual.h"
#include "horovodrun/options/option_values.h"
#include "horovodrun/system/process.h"
#include "horovodrun/system/text_file.h"
#include "horovodrun/system/usable_cores.h"

namespace hvd::launcher {
namespace {

constexpr int kMaxRanksOfJob = 1 << 20;
constexpr double kDefaultStartTimeoutSeconds = 30;
constexpr char kHeartbeat[] = "HOROVODPP_HEARTBEAT_SECONDS";
constexpr char kStartTimeout[] = "HOROVOD_START_TIMEOUT";

// Names in the environment replace the libraries' own names.
GpuLibraries gpu_libraries(const Environment& environment) {
  GpuLibraries libraries;
  const auto nccl = environment.find("HOROVODPP_NCCL_LIBRARY");
  if (nccl != environment.end()) libraries.nccl = nccl->second;
  const auto cuda = environment.find("HOROVODPP_CUDA_LIBRARY");
  if (cuda != environment.end()) libraries.cuda = cuda->second;
  return libraries;
}

// The answer to a question about horovodrun itself; "" if there is none.
std::string answer_to(const OptionValues& options,
                      const Environment& environment) {
  if (options.has("--help")) return help_text();
  if (options.has("--version")) return absl::StrCat(described_version(), "\n");
  if (options.has("--completion")) {
    return absl::EqualsIgnoreCase(options.text("--completion"), "zsh")
               ? zsh_completion()
               : bash_completion();
  }
  if (options.has("--dump")) return dump_of_ranks(std::nullopt);
  if (options.has("--print")) {
    return absl::EqualsIgnoreCase(options.text("--print"), "table")
               ? options_table()
               : manual_page();
  }
  if (!options.has("--check-build")) return "";
  return to_text(installation_of(own_path(), gpu_libraries(environment)),
                 described_version());
}

// The text of the file that an option names.
absl::StatusOr<std::string> read_file_of(const OptionValues& options,
                                         const char* name) {
  const std::string path = options.text(name);
  absl::StatusOr<std::string> text = read_text_file(path);
  if (text.ok()) return text;
  return absl::InvalidArgumentError(absl::StrCat(
      "cannot read '", path, "' (", name, "): ", text.status().message()));
}

absl::Status add_config_file(OptionValues& options) {
  if (!options.has("--config-file")) return absl::OkStatus();
  const std::string path = options.text("--config-file");
  HVD_ASSIGN_OR_RETURN(const std::string text,
                       read_file_of(options, "--config-file"));
  const absl::StatusOr<OptionValues> values = parse_config(text);
  if (!values.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", values.status().message()));
  }
  options.add_defaults(*values);
  return absl::OkStatus();
}

absl::StatusOr<std::chrono::milliseconds> read_start_timeout(
    const OptionValues& options, const Environment& environment) {
  std::string text = options.text("--start-timeout");
  const auto variable = environment.find(kStartTimeout);
  if (text.empty() && variable != environment.end()) {
    text = variable->second;
    if (!text.empty()) {
      HVD_RETURN_IF_ERROR(
          check_value(*find_option("--start-timeout"), text, kStartTimeout));
    }
  }
  double seconds = kDefaultStartTimeoutSeconds;
  static_cast<void>(text.empty() || absl::SimpleAtod(text, &seconds));
  return std::chrono::milliseconds(std::llround(1000 * seconds));
}

// The sources of hosts besides the options.
struct HostSources {
  const HostSource& scheduled;
  const HostDiscovery& discovered;
};

// The hosts that the options name, or the scheduler; empty: this host.
absl::StatusOr<std::vector<Host>> read_hosts(const OptionValues& options,
                                             const ElasticTerms& terms,
                                             const HostSources& sources) {
  if (!terms.discovery.script.empty() && sources.discovered) {
    return sources.discovered(terms.discovery, least_slots(options),
                              terms.timeout);
  }
  if (options.has("--hosts")) return parse_hosts(options.text("--hosts"));
  if (options.has("--hostfile")) {
    HVD_ASSIGN_OR_RETURN(const std::string text,
                         read_file_of(options, "--hostfile"));
    return parse_hostfile(text);
  }
  if (!sources.scheduled || options.has("--standalone")) {
    return std::vector<Host>();
  }
  return sources.scheduled();
}

// Sets the ranks, and the hosts that they fill.
absl::Status place_ranks(const OptionValues& options,
                         const Environment& environment,
                         std::vector<Host> hosts, Arguments& arguments) {
  std::optional<std::int64_t> ranks;
  if (options.has("--num-proc")) ranks = options.count("--num-proc", 0);
  if (options.has("--nproc-per-node")) {
    const std::string text = options.text("--nproc-per-node");
    Processors processors = {.cores = usable_cores()};
    if (text == "gpu" || text == "auto") {
      processors.gpus = gpu_count(gpu_libraries(environment).cuda);
    }
    HVD_ASSIGN_OR_RETURN(ranks, ranks_of_host(text, processors));
    for (Host& host : hosts) host.slots = static_cast<int>(*ranks);
    if (!hosts.empty()) *ranks *= static_cast<std::int64_t>(hosts.size());
  }
  // A job whose hosts are discovered begins with the slots that there are.
  const bool are_discovered = options.has("--host-discovery-script");
  if (are_discovered) {
    const std::int64_t most = options.count("--max-np", kMaxRanksOfJob);
    ranks = std::min<std::int64_t>(ranks.value_or(most), slots_of(hosts));
  }
  // A scheduler's only host takes any number of ranks, as without a scheduler.
  const bool are_scheduled =
      !are_discovered && !options.has("--hosts") && !options.has("--hostfile");
  if (ranks && are_scheduled && hosts.size() == 1) {
    hosts[0].slots = std::max(hosts[0].slots, static_cast<int>(*ranks));
  }
  if (!ranks && !hosts.empty()) ranks = slots_of(hosts);
  if (!ranks) {
    return absl::InvalidArgumentError(
        "say how many ranks to start, as in horovodrun -np 2 ./train");
  }
  if (*ranks < 1 || *ranks > kMaxRanksOfJob) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the job has ", *ranks, " ranks; give from 1 to ", kMaxRanksOfJob));
  }
  arguments.ranks = static_cast<int>(*ranks);
  if (hosts.empty()) return absl::OkStatus();
  HVD_ASSIGN_OR_RETURN(arguments.hosts, fill_hosts(hosts, arguments.ranks));
  arguments.room = std::move(hosts);
  return absl::OkStatus();
}

// The program that --module runs: Python beside this program, as in a virtual
// environment, or the PATH's.
std::string python() {
  const std::filesystem::path beside =
      std::filesystem::path(own_path()).parent_path() / "python3";
  std::error_code error;
  return std::filesystem::exists(beside, error) ? beside.string() : "python3";
}

absl::StatusOr<std::vector<std::string>> read_mpi_arguments(
    const OptionValues& options) {
  std::vector<std::string> all;
  for (const char* name : {"--binding-args", "--mpi-args"}) {
    HVD_ASSIGN_OR_RETURN(const std::vector<std::string> words,
                         split_words(options.text(name), name));
    all.insert(all.end(), words.begin(), words.end());
  }
  return all;
}

// Adds the variables by which Open MPI 4 and 5, MPICH and Intel MPI learn of
// options for ssh.
absl::Status add_ssh_settings(const OptionValues& options,
                              Environment& settings) {
  std::string words;
  if (options.has("--ssh-port")) {
    words = absl::StrCat("-p ", options.count("--ssh-port", 0));
  }
  if (options.has("--ssh-identity-file")) {
    const std::string file = options.text("--ssh-identity-file");
    // mpirun splits ssh's arguments at blanks.
    if (file.empty() || file.find_first_of(" \t\n") != std::string::npos) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--ssh-identity-file is '", file,
          "'; give a path without blanks, or name the file in ~/.ssh/config"));
    }
    absl::StrAppend(&words, words.empty() ? "" : " ", "-i ", file);
  }
  if (words.empty()) return absl::OkStatus();
  for (const char* name :
       {"OMPI_MCA_plm_rsh_args", "PRTE_MCA_plm_ssh_args",
        "HYDRA_LAUNCHER_EXTRA_ARGS", "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS"}) {
    settings[name] = words;
  }
  return absl::OkStatus();
}

// Variables for mpirun, agents and ranks.
absl::StatusOr<Environment> read_settings(const OptionValues& options) {
  Environment settings = options.variables();
  HVD_RETURN_IF_ERROR(add_ssh_settings(options, settings));
  if (options.has("--debug-on-crash")) settings[kDebugVariable] = "1";
  if (options.has("--local-ranks-filter")) {
    settings[kShownRanksVariable] = options.text("--local-ranks-filter");
  }
  if (!options.has("--redirects")) return settings;
  const std::string redirects = options.text("--redirects");
  HVD_RETURN_IF_ERROR(redirected_streams(redirects, 0).status());
  if (!options.has("--output-filename")) {
    return absl::InvalidArgumentError(
        "--redirects hides output that goes to files; name their folder with "
        "--log-dir");
  }
  settings[kRedirectsVariable] = redirects;
  return settings;
}

// The engine that the options name; "": none.
std::string named_engine(const OptionValues& options) {
  if (options.has("--mpi")) return "mpirun";
  if (options.has("--no-mpi")) return "direct";
  const std::string name = absl::AsciiStrToLower(options.text("--launcher"));
  if (name == "local" || name == "ssh") return "direct";
  return name == "auto" ? "" : name;
}

// Sets the ranks, their hosts and, before the hosts are asked, the engine.
absl::Status read_ranks(const OptionValues& options,
                        const Environment& environment,
                        const HostSources& sources, Arguments& arguments) {
  arguments.engine = named_engine(options);
  const bool is_elastic = elastic_option(options) != nullptr;
  if (is_elastic) {
    HVD_RETURN_IF_ERROR(choose_elastic_engine(options, arguments));
    HVD_ASSIGN_OR_RETURN(arguments.elastic, read_elastic_terms(options));
  }
  HVD_ASSIGN_OR_RETURN(std::vector<Host> hosts,
                       read_hosts(options, arguments.elastic, sources));
  HVD_RETURN_IF_ERROR(
      place_ranks(options, environment, std::move(hosts), arguments));
  return is_elastic ? read_elastic_sizes(options, arguments) : absl::OkStatus();
}

std::vector<std::string> notes_of(const OptionValues& options) {
  std::vector<std::string> notes = options.notes();
  if (options.has("--slots-per-host") &&
      !options.has("--host-discovery-script")) {
    notes.push_back(
        "--slots-per-host has no effect: it is for hosts that "
        "--host-discovery-script names");
  }
  return notes;
}

absl::StatusOr<Arguments> checked(const OptionValues& options,
                                  std::vector<std::string> command,
                                  const Environment& environment,
                                  const HostSources& sources) {
  Arguments arguments;
  HVD_RETURN_IF_ERROR(read_ranks(options, environment, sources, arguments));
  if (command.empty()) {
    return absl::InvalidArgumentError(
        "say what to run, as in horovodrun -np 2 ./train");
  }
  if (options.has("--module"))
    command.insert(command.begin(), {python(), "-m"});
  arguments.command = std::move(command);
  arguments.verbose = options.has("--verbose");
  arguments.watches = options.has("--watch");
  arguments.prefix = read_prefix(options, environment);
  HVD_ASSIGN_OR_RETURN(arguments.log_limits, read_log_limits(options));
  arguments.output_filename = options.text("--output-filename");
  arguments.max_restarts = static_cast<int>(options.count("--max-restarts", 0));
  if (const OptionValue* names = options.find("--network-interfaces")) {
    arguments.network_interfaces = names->words;
  }
  HVD_ASSIGN_OR_RETURN(arguments.start_timeout,
                       read_start_timeout(options, environment));
  HVD_ASSIGN_OR_RETURN(arguments.mpi_arguments, read_mpi_arguments(options));
  HVD_ASSIGN_OR_RETURN(arguments.settings, read_settings(options));
  // A debugger stops a whole process for seconds.
  if (options.has("--debug-on-crash") && !environment.contains(kHeartbeat)) {
    arguments.settings.emplace(kHeartbeat, "60");
  }
  arguments.notes = notes_of(options);
  return arguments;
}

}  // namespace

absl::StatusOr<Arguments> parse_arguments(const std::vector<std::string>& words,
                                          const Environment& environment,
                                          const HostSource& scheduled,
                                          const HostDiscovery& discovered) {
  HVD_ASSIGN_OR_RETURN(CommandLine line, read_words(words));
  Arguments arguments;
  arguments.answer = answer_to(line.options, environment);
  if (!arguments.answer.empty()) return arguments;
  HVD_RETURN_IF_ERROR(add_config_file(line.options));
  return checked(line.options, std::move(line.command), environment,
                 {scheduled, discovered});
}

}  // namespace hvd::launcher
