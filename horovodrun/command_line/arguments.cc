// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/command_line/arguments.h"

#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"
#include "horovodrun/command_line/check_build.h"
#include "horovodrun/system/process.h"

namespace hvd::launcher {
namespace {

constexpr int kMaxRanks = 1 << 20;
constexpr int kMaxSeconds = 7 * 24 * 3600;

struct RawOptions {
  std::optional<int> ranks;
  std::string hosts;
  std::string hostfile;
  bool mpi = false;
  bool local = false;
  std::string launcher = "auto";
  bool verbose = false;
  bool version = false;
  bool check_build = false;
  std::string start_timeout;
  std::string mpi_arguments;
  std::string output_filename;
  std::vector<std::string> network_interfaces;
  Environment settings;
};

// --name and --no-name, which set `variable` to 1 and 0 for ranks. Without
// either, ranks inherit it.
struct Switch {
  const char* name;
  const char* variable;
  const char* what;
};

constexpr Switch kSwitches[] = {
    {"hierarchical-allreduce", "HOROVOD_HIERARCHICAL_ALLREDUCE",
     "Reduce within each node first, then between nodes"},
    {"hierarchical-allgather", "HOROVOD_HIERARCHICAL_ALLGATHER",
     "Let all ranks of a node gather between nodes"},
};

class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(34); }
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: horovodrun -np N [options] command [arguments]\n";
  }
};

void declare_switch(CLI::App& app, const Switch& which, RawOptions& raw) {
  const auto set = [&raw, &which](const char* value) {
    return [&raw, &which, value] { raw.settings[which.variable] = value; };
  };
  CLI::Option* on = app.add_flag_callback(
      absl::StrCat("--", which.name), set("1"),
      absl::StrCat(which.what, ". Default: ", which.variable, ", or on"));
  app.add_flag_callback(absl::StrCat("--no-", which.name), set("0"),
                        absl::StrCat("Turn --", which.name, " off"))
      ->excludes(on);
}

void declare_options(CLI::App& app, RawOptions& raw) {
  app.formatter(std::make_shared<HelpFormatter>());
  app.add_option("-n,--num-proc", raw.ranks,
                 "Number of ranks to start (also -np)")
      ->type_name("N");
  CLI::Option* hosts =
      app.add_option(
             "-H,--hosts", raw.hosts,
             "Hosts with their slots: worker-0:2,worker-1:2. Default: this "
             "host. horovodrun and the command must have the same path "
             "on every host")
          ->type_name("HOSTS");
  app.add_option("--hostfile", raw.hostfile,
                 "File with a line for each host: worker-0 slots=2")
      ->excludes(hosts)
      ->type_name("FILE");
  CLI::Option* mpi = app.add_flag(
      "--mpi", raw.mpi,
      "Start the ranks by mpirun, even if only this host is asked for. "
      "Default: if there is one");
  app.add_flag("--no-mpi,--gloo", raw.local,
               "Start the ranks without MPI: faster, and for commands that do "
               "not call MPI themselves. On this host only")
      ->excludes(mpi);
  app.add_option("--launcher", raw.launcher,
                 "What starts the ranks: mpirun (as --mpi), srun (in an "
                 "allocation of Slurm), local (as --no-mpi) or auto. Default: "
                 "auto, the first of mpirun, local and srun that can")
      ->check(CLI::IsMember({"auto", "mpirun", "srun", "local"}))
      ->excludes("--mpi")
      ->excludes("--no-mpi")
      ->type_name("NAME");
  app.add_flag("--verbose", raw.verbose,
               "Show the command that starts the ranks, and its environment");
  app.add_flag("-v,--version", raw.version, "Print the version");
  app.add_flag("--check-build", raw.check_build,
               "Print what this installation has (also -cb)");
  app.add_option("--start-timeout", raw.start_timeout,
                 "Seconds, such as 2.5, within which every rank must have "
                 "started. Default: HOROVOD_START_TIMEOUT, or 30")
      ->type_name("SECONDS");
  app.add_option(
         "--mpi-args", raw.mpi_arguments,
         "Further arguments for mpirun, as one word: --mpi-args \"-x A=1\"")
      ->type_name("ARGUMENTS");
  app.add_option("--output-filename", raw.output_filename,
                 "A folder to which the output of each rank is written as well "
                 "as shown, on the rank's host")
      ->type_name("PATH");
  app.add_option("--network-interface,--network-interfaces",
                 raw.network_interfaces,
                 "Interfaces for traffic between hosts, separated by commas")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAMES");
  for (const Switch& which : kSwitches) declare_switch(app, which, raw);
}

// The index where the command begins: the first word that is neither an option
// nor an option's value. Rewrites the spellings with one dash that Horovod has.
absl::StatusOr<size_t> split_off_options(const CLI::App& app,
                                         std::vector<std::string>& words) {
  size_t i = 0;
  while (i < words.size() && words[i].size() > 1 && words[i][0] == '-') {
    if (words[i] == "--") return i;
    if (words[i] == "-np") words[i] = "--num-proc";
    if (words[i] == "-cb") words[i] = "--check-build";
    if (words[i] == "-hostfile") words[i] = "--hostfile";
    const std::string name = words[i].substr(0, words[i].find('='));
    const CLI::Option* option = app.get_option_no_throw(name);
    if (option == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(
          "unknown option '", name,
          "'; see horovodrun --help. Options of the command come after it, and "
          "those of mpirun go into --mpi-args"));
    }
    const bool value_follows =
        option->get_expected_min() > 0 && name.size() == words[i].size();
    i += value_follows ? 2 : 1;
  }
  return std::min(i, words.size());
}

// Longer than any list of hosts. A device file may be endless.
constexpr std::size_t kMaxHostfileBytes = 64 << 20;

absl::StatusOr<std::string> read_file(const std::string& path) {
  const auto refusal = [&](const std::string& why) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot read the hostfile '", path, "': ", why,
                     "; it needs lines like 'worker-0 slots=2'"));
  };
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0) return refusal(std::strerror(errno));
  if (S_ISDIR(status.st_mode)) return refusal("it is a folder");
  std::ifstream file(path, std::ios::binary);
  std::string text;
  std::string piece(1 << 16, '\0');
  while (file && text.size() <= kMaxHostfileBytes) {
    file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    text.append(piece, 0, static_cast<std::size_t>(file.gcount()));
  }
  if (!file.eof()) {
    return refusal(file ? "it is too long" : std::strerror(errno));
  }
  return text;
}

absl::StatusOr<std::vector<Host>> read_hosts(const RawOptions& raw) {
  if (!raw.hosts.empty()) return parse_hosts(raw.hosts);
  if (raw.hostfile.empty()) return std::vector<Host>();
  HVD_ASSIGN_OR_RETURN(const std::string text, read_file(raw.hostfile));
  return parse_hostfile(text);
}

// `text` is the value from `source`.
absl::StatusOr<std::chrono::milliseconds> parse_start_timeout(
    const std::string& text, const std::string& source) {
  double seconds = 0;
  if (!absl::SimpleAtod(text, &seconds) || !(seconds >= 0.001) ||
      seconds > kMaxSeconds) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the start timeout (", source, ") is '", text,
        "'; give a number of seconds above 0 and up to ", kMaxSeconds));
  }
  return std::chrono::milliseconds(std::llround(1000 * seconds));
}

absl::StatusOr<std::chrono::milliseconds> read_start_timeout(
    const RawOptions& raw, const Environment& environment) {
  if (!raw.start_timeout.empty()) {
    return parse_start_timeout(raw.start_timeout, "--start-timeout");
  }
  const auto found = environment.find("HOROVOD_START_TIMEOUT");
  if (found == environment.end() || found->second.empty()) {
    return std::chrono::seconds(30);
  }
  return parse_start_timeout(found->second, "HOROVOD_START_TIMEOUT");
}

absl::StatusOr<Arguments> checked(const RawOptions& raw,
                                  std::vector<std::string> command,
                                  const Environment& environment,
                                  const HostSource& source) {
  std::vector<Host> scheduled;
  if (source && raw.hosts.empty() && raw.hostfile.empty()) {
    HVD_ASSIGN_OR_RETURN(scheduled, source());
    // A host that is the only one takes any number of ranks, as without a
    // scheduler.
    if (scheduled.size() == 1 && raw.ranks) {
      scheduled[0].slots = std::max(scheduled[0].slots, *raw.ranks);
    }
  }
  if (!raw.ranks && scheduled.empty()) {
    return absl::InvalidArgumentError(
        "say how many ranks to start, as in horovodrun -np 2 ./train");
  }
  if (command.empty()) {
    return absl::InvalidArgumentError(
        "say what to run, as in horovodrun -np 2 ./train");
  }
  Arguments arguments;
  arguments.ranks = raw.ranks.value_or(slots_of(scheduled));
  if (arguments.ranks < 1 || arguments.ranks > kMaxRanks) {
    return absl::InvalidArgumentError(absl::StrCat(
        "-np is ", arguments.ranks, "; give a number from 1 to ", kMaxRanks));
  }
  if (raw.mpi) arguments.engine = "mpirun";
  if (raw.local) arguments.engine = "local";
  if (raw.launcher != "auto") arguments.engine = raw.launcher;
  arguments.verbose = raw.verbose;
  HVD_ASSIGN_OR_RETURN(arguments.start_timeout,
                       read_start_timeout(raw, environment));
  arguments.output_filename = raw.output_filename;
  arguments.network_interfaces = raw.network_interfaces;
  arguments.settings = raw.settings;
  arguments.command = std::move(command);
  HVD_ASSIGN_OR_RETURN(arguments.mpi_arguments, split_words(raw.mpi_arguments));
  HVD_ASSIGN_OR_RETURN(std::vector<Host> hosts, read_hosts(raw));
  if (hosts.empty()) hosts = std::move(scheduled);
  if (!hosts.empty()) {
    HVD_ASSIGN_OR_RETURN(arguments.hosts, fill_hosts(hosts, arguments.ranks));
  }
  return arguments;
}

}  // namespace

absl::StatusOr<Arguments> parse_arguments(const std::vector<std::string>& words,
                                          const Environment& environment,
                                          const HostSource& scheduled) {
  CLI::App app("Starts a program as N ranks that work together.");
  RawOptions raw;
  declare_options(app, raw);
  std::vector<std::string> options = words;
  HVD_ASSIGN_OR_RETURN(const size_t split, split_off_options(app, options));
  std::vector<std::string> command(options.begin() + static_cast<long>(split),
                                   options.end());
  if (!command.empty() && command[0] == "--") command.erase(command.begin());
  options.resize(split);
  std::reverse(options.begin(), options.end());

  Arguments arguments;
  try {
    app.parse(std::move(options));
  } catch (const CLI::CallForHelp&) {
    arguments.answer = app.help();
    return arguments;
  } catch (const CLI::ParseError& error) {
    return absl::InvalidArgumentError(
        absl::StrCat(error.what(), "; see horovodrun --help"));
  }
  if (raw.version) {
    arguments.answer = absl::StrCat(described_version(), "\n");
    return arguments;
  }
  if (raw.check_build) {
    GpuLibraries libraries;
    const auto nccl = environment.find("HOROVODPP_NCCL_LIBRARY");
    if (nccl != environment.end()) libraries.nccl = nccl->second;
    const auto cuda = environment.find("HOROVODPP_CUDA_LIBRARY");
    if (cuda != environment.end()) libraries.cuda = cuda->second;
    const Installation installation = installation_of(own_path(), libraries);
    arguments.answer = to_text(installation, described_version());
    return arguments;
  }
  return checked(raw, std::move(command), environment, scheduled);
}

absl::StatusOr<std::vector<std::string>> split_words(const std::string& text) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    const bool blank = c == ' ' || c == '\t' || c == '\n';
    if (quote == 0 && blank) {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == quote) {
      quote = 0;
    } else {
      if (c == '\\' && quote != '\'' && i + 1 < text.size()) c = text[++i];
      words.back().push_back(c);
    }
  }
  if (quote != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--mpi-args has a ", std::string(1, quote),
                     " that is not closed: ", text));
  }
  return words;
}

}  // namespace hvd::launcher
