// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/preflight/doctor.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "horovodpp/core/job/host_name.h"
#include "horovodpp/core/status.h"
#include "horovodrun/command_line/hosts.h"
#include "horovodrun/command_line/shell_words.h"
#include "horovodrun/system/process.h"

namespace hvd::launcher {
namespace {

using Level = Finding::Level;
using Words = std::vector<std::string>;

constexpr std::int64_t kGiB = std::int64_t{1} << 30;
constexpr std::int64_t kMinSharedMemory = kGiB;
constexpr std::int64_t kMinOpenFiles = 1024;
// In microseconds.
constexpr std::int64_t kMaxClockSkew = 5'000'000;
constexpr std::array<const char*, 3> kLevelNames = {"ok", "warning", "fix"};

const char* name_of(Level level) {
  return kLevelNames[static_cast<std::size_t>(level)];
}

std::string gib(std::int64_t bytes) {
  return absl::StrFormat(
      "%.1f GiB", static_cast<double>(bytes) / static_cast<double>(kGiB));
}

bool are_well(const HostAnswers& answers) {
  return std::all_of(
      answers.hosts.begin(), answers.hosts.end(),
      [](const HostAnswer& one) { return one.facts && one.problem.empty(); });
}

class Findings {
 public:
  explicit Findings(const HostAnswers& answers) : answers_(answers) {}

  std::vector<Finding> all() {
    for (const HostAnswer& answer : answers_.hosts) {
      if (!answer.problem.empty()) {
        add(answer.host, "start", Level::kFix, answer.problem);
      } else if (answer.facts) {
        add(answer.host, "start", Level::kOk,
            absl::StrCat("horovodrun ", answer.facts->version));
      }
      if (answer.facts) add_details_of(answer);
    }
    if (answers_.hosts.size() > 1) add_networks();
    return std::move(findings_);
  }

 private:
  void add(const std::string& host, const char* subject, Level level,
           std::string text) {
    findings_.push_back({host, subject, level, std::move(text)});
  }

  void add_details_of(const HostAnswer& answer) {
    const std::string& host = answer.host;
    const HostFacts& facts = *answer.facts;
    add_mpi(host, facts.mpi);
    add(host, "machine", Level::kOk,
        absl::StrCat(facts.cores, " cores, ", gib(facts.memory)));
    const bool has_room = facts.shared_memory >= kMinSharedMemory;
    add(host, "shared memory", has_room ? Level::kOk : Level::kWarning,
        absl::StrCat(gib(facts.shared_memory), " free in /dev/shm",
                     has_room ? ""
                              : "; ranks of a host exchange data there: give a "
                                "container more (--shm-size)"));
    const bool has_files = facts.open_files >= kMinOpenFiles;
    add(host, "open files", has_files ? Level::kOk : Level::kWarning,
        has_files ? "enough for each process"
                  : absl::StrCat(facts.open_files,
                                 " for each process; allow more (ulimit -n)"));
    if (&answer == answers_.hosts.data()) return;
    const std::int64_t skew = answer.clock_skew;
    const bool agrees = skew < kMaxClockSkew && -skew < kMaxClockSkew;
    add(host, "clock", agrees ? Level::kOk : Level::kWarning,
        agrees ? "agrees with this host's"
               : absl::StrCat(skew / 1'000'000,
                              " s from this host's, so that logs do not agree; "
                              "use NTP"));
  }

  void add_mpi(const std::string& host, const std::string& mpi) {
    const std::string own = answers_.hosts[0].facts->mpi;
    const bool matters = answers_.hosts.size() > 1;
    if (mpi == "none") {
      add(host, "MPI", matters ? Level::kFix : Level::kWarning,
          "there is no mpirun on the PATH, by which jobs on several hosts "
          "start (Debian, Ubuntu: apt install openmpi-bin)");
    } else if (mpi != own) {
      add(host, "MPI", Level::kWarning,
          absl::StrCat(mpi, ", and ", own, " on this host"));
    } else {
      add(host, "MPI", Level::kOk, mpi);
    }
  }

  void add_networks() {
    if (!are_well(answers_)) return;
    const std::string names = absl::StrJoin(
        answers_.networks, ", ", [](std::string* out, const Network& network) {
          absl::StrAppend(out, to_text(network));
        });
    if (!names.empty()) {
      add("all", "network", Level::kOk,
          absl::StrCat("all hosts reach each other over ", names));
    } else if (answers_.have_one_network) {
      add("all", "network", Level::kOk, "one network, and no other");
    } else {
      add("all", "network", Level::kWarning,
          "no network was found over which all hosts reach each other; does a "
          "firewall between them allow only some ports?");
    }
  }

  const HostAnswers& answers_;
  std::vector<Finding> findings_;
};

std::string json_string(const std::string& text) {
  std::string json = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') json.push_back('\\');
    json.push_back(absl::ascii_iscntrl(static_cast<unsigned char>(c)) ? ' '
                                                                      : c);
  }
  return json + "\"";
}

struct DoctorOptions {
  std::vector<Host> hosts{};
  bool json = false;
};

absl::StatusOr<std::string> contents_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file.bad() || !file.is_open()) {
    return errno_error(absl::StrCat("cannot read the hostfile '", path, "'"));
  }
  return text;
}

absl::StatusOr<DoctorOptions> read_options(const Words& words) {
  DoctorOptions options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool has_value = i + 1 < words.size();
    if (words[i] == "--json") {
      options.json = true;
    } else if (has_value && (words[i] == "-H" || words[i] == "--hosts")) {
      HVD_ASSIGN_OR_RETURN(options.hosts, parse_hosts(words[++i]));
    } else if (has_value && words[i] == "--hostfile") {
      HVD_ASSIGN_OR_RETURN(const std::string text, contents_of(words[++i]));
      HVD_ASSIGN_OR_RETURN(options.hosts, parse_hostfile(text));
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("'", words[i],
                       "' is no option of doctor; write horovodrun doctor "
                       "[-H HOSTS|--hostfile FILE] [--json]"));
    }
  }
  return options;
}

// As mpirun of Open MPI connects to hosts.
Words shell_of(const Environment& environment) {
  Words words = open_mpi_shell({}, environment);
  return words.empty() ? Words{"ssh"} : words;
}

std::string bandwidth(double mbit_s) {
  return mbit_s < 1000 ? absl::StrFormat("%.0f Mbit/s", mbit_s)
                       : absl::StrFormat("%.1f Gbit/s", mbit_s / 1000);
}

}  // namespace

std::vector<Finding> findings_of(const HostAnswers& answers) {
  return Findings(answers).all();
}

std::vector<Finding> findings_of(const HostAnswers& answers,
                                 const std::vector<Link>& links) {
  std::vector<Finding> findings;
  for (const Link& link : links) {
    Finding one = {.host = absl::StrCat(answers.hosts[link.from].host, " - ",
                                        answers.hosts[link.to].host),
                   .subject = "link"};
    if (!link.figures) {
      one.level = Level::kWarning;
      one.text = absl::StrCat("could not be measured: ", link.problem);
    } else {
      const LinkFigures& figures = *link.figures;
      one.text =
          absl::StrFormat("%.0f us, %s there, %s back", figures.latency_us,
                          bandwidth(figures.there), bandwidth(figures.back));
      one.figures = {{"latency_us", figures.latency_us},
                     {"mbit_s_there", figures.there},
                     {"mbit_s_back", figures.back}};
      if (is_far_slower(link, links)) {
        one.level = Level::kWarning;
        absl::StrAppend(&one.text,
                        "; far slower than most links: every step of a job "
                        "waits for the slowest one");
      }
    }
    findings.push_back(std::move(one));
  }
  return findings;
}

std::string to_table(const std::vector<Finding>& findings) {
  int host_width = 0;
  int subject_width = 0;
  for (const Finding& one : findings) {
    host_width = std::max(host_width, static_cast<int>(one.host.size()));
    subject_width =
        std::max(subject_width, static_cast<int>(one.subject.size()));
  }
  std::string table;
  for (const Finding& one : findings) {
    absl::StrAppendFormat(&table, "%-*s  %-*s  %-7s  %s\n", host_width,
                          one.host, subject_width, one.subject,
                          name_of(one.level), one.text);
  }
  return table;
}

std::string to_json(const std::vector<Finding>& findings) {
  return absl::StrCat(
      "[",
      absl::StrJoin(findings, ",\n ",
                    [](std::string* out, const Finding& one) {
                      absl::StrAppend(
                          out, "{\"host\": ", json_string(one.host),
                          ", \"subject\": ", json_string(one.subject),
                          ", \"level\": ", json_string(name_of(one.level)),
                          ", \"text\": ", json_string(one.text));
                      for (const auto& [name, value] : one.figures) {
                        absl::StrAppendFormat(out, ", %s: %.6g",
                                              json_string(name), value);
                      }
                      absl::StrAppend(out, "}");
                    }),
      "]\n");
}

int run_doctor(const Words& words, const Environment& environment) {
  const auto options = read_options(words);
  if (!options.ok()) {
    std::fputs(
        absl::StrCat("horovodrun: ", options.status().message(), "\n").c_str(),
        stderr);
    return 2;
  }
  Preflight job = {.own_name = host_name(),
                   .shell = shell_of(environment),
                   .program = own_path(),
                   .chooses_networks = true,
                   .is_thorough = true,
                   .environment = environment};
  for (const Host& host : options->hosts) job.hosts.push_back(host.name);
  const HostAnswers answers = ask_hosts(job);
  std::vector<Finding> findings = findings_of(answers);
  if (answers.hosts.size() > 1 && are_well(answers)) {
    for (Finding& one : findings_of(answers, test_links(job, answers))) {
      findings.push_back(std::move(one));
    }
  }
  std::fputs((options->json ? to_json(findings) : to_table(findings)).c_str(),
             stdout);
  const bool any_to_fix =
      std::any_of(findings.begin(), findings.end(),
                  [](const Finding& one) { return one.level == Level::kFix; });
  return any_to_fix ? 1 : 0;
}

}  // namespace hvd::launcher
