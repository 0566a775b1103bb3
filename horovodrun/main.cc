// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "horovodpp/core/job/host_name.h"
#include "horovodpp/core/status.h"
#include "horovodrun/command_line/arguments.h"
#include "horovodrun/discovery/await_hosts.h"
#include "horovodrun/engines/engine.h"
#include "horovodrun/job/job.h"
#include "horovodrun/node/agent.h"
#include "horovodrun/node/flight_recorder.h"
#include "horovodrun/node/stacks.h"
#include "horovodrun/output/rank_files.h"
#include "horovodrun/output/report.h"
#include "horovodrun/preflight/describe_host.h"
#include "horovodrun/preflight/doctor.h"
#include "horovodrun/preflight/link_end.h"
#include "horovodrun/preflight/preflight.h"
#include "horovodrun/report/report_command.h"
#include "horovodrun/schedulers/schedulers.h"
#include "horovodrun/system/abstract_socket.h"
#include "horovodrun/system/environment.h"
#include "horovodrun/system/process.h"
#include "horovodrun/terminal/terminal_block.h"
#include "horovodrun/terminal/terminal_color.h"
#include "horovodrun/timeline/job_timelines.h"
#include "horovodrun/timeline/merge_timelines.h"
#include "horovodrun/timeline/part_sender.h"

namespace hvd::launcher {
namespace {

constexpr int kUsageError = 2;

// Whether the loopback interface is up, under its name on Linux.
bool loopback_is_up() {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return false;
  bool is_up = false;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    is_up =
        is_up ||
        (std::string(one->ifa_name) == "lo" && (one->ifa_flags & IFF_UP) != 0 &&
         one->ifa_addr != nullptr && one->ifa_addr->sa_family == AF_INET);
  }
  freeifaddrs(all);
  return is_up;
}

void print_plan(const StartPlan& plan) {
  std::string text;
  Environment shown = plan.added;
  shown.erase(kTokenVariable);
  for (const std::string& variable : to_strings(shown)) {
    absl::StrAppend(&text, "horovodrun: ", variable, "\n");
  }
  absl::StrAppend(&text, "horovodrun: ", shell_quoted(plan.argv), "\n");
  std::fputs(text.c_str(), stderr);
}

// Plans the start after the hosts were asked.
absl::StatusOr<StartPlan> plan_after_preflight(const Arguments& arguments,
                                               LaunchContext& context) {
  HVD_ASSIGN_OR_RETURN(StartPlan plan, plan_start(arguments, context));
  if (plan.remote_shell.empty() && arguments.network_interfaces.empty()) {
    return plan;
  }
  Preflight job = {.own_name = context.host_name,
                   .shell = plan.remote_shell,
                   .program = context.agent,
                   .interfaces = arguments.network_interfaces,
                   .chooses_networks = plan.takes_networks,
                   .timeout = arguments.start_timeout,
                   .environment = context.environment};
  if (const auto folder = plan.added.find(kFilesVariable);
      folder != plan.added.end()) {
    job.folder = folder->second;
  }
  for (const Host& host : arguments.hosts) job.hosts.push_back(host.name);
  HVD_ASSIGN_OR_RETURN(context.networks, check_hosts(job));
  return context.networks.empty() ? plan : plan_start(arguments, context);
}

// `horovodrun --restart K WORDS...` is the K-th restart of `horovodrun WORDS...`.
constexpr char kRestart[] = "--restart";

// Replaces this process by a restart of the job. Returns an error if that fails.
absl::Status restart(const std::vector<std::string>& words, int count) {
  std::vector<std::string> argv = {own_path(), kRestart, absl::StrCat(count)};
  argv.insert(argv.end(), words.begin(), words.end());
  std::vector<char*> pointers;
  for (std::string& word : argv) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  execv(pointers[0], pointers.data());
  return errno_error("cannot start the job again");
}

// Tells the ranks of the restart, and keeps the files of earlier starts.
void count_restarts(int restarts, Arguments& arguments) {
  if (arguments.max_restarts == 0) return;
  arguments.settings["HOROVODPP_RESTART_COUNT"] = absl::StrCat(restarts);
  if (restarts > 0 && !arguments.output_filename.empty()) {
    absl::StrAppend(&arguments.output_filename, "/restart.", restarts);
  }
}

// Lets every rank write a timeline, if rank 0 does.
JobTimelines add_timelines(Arguments& arguments,
                           const Environment& environment) {
  constexpr char kTimeline[] = "HOROVOD_TIMELINE";
  std::string path;
  if (const auto found = environment.find(kTimeline);
      found != environment.end()) {
    path = found->second;
  }
  if (const auto found = arguments.settings.find(kTimeline);
      found != arguments.settings.end()) {
    path = found->second;
  }
  JobTimelines timelines(path, arguments.ranks);
  if (timelines.has_parts()) {
    arguments.settings.emplace("HOROVODPP_TIMELINE_PARTS", "1");
  }
  return timelines;
}

// Says "horovodrun: TEXT" as a line; the first word has the color, if the
// terminal takes colors.
void say(const std::string& text, const char* color = kBold) {
  static const bool has_colors =
      takes_colors(STDERR_FILENO, current_environment());
  std::string line = "horovodrun:";
  if (has_colors) line = in_color(line, color);
  absl::StrAppend(&line, " ", text, "\n");
  std::fputs(line.c_str(), stderr);
}

// The block at the end of a job, whose last line gives the cause.
void say_verdict(const Verdict& verdict) {
  const char* color = verdict.exit_code == 0 ? kBold : kBoldRed;
  if (!verdict.last_lines.empty()) {
    say(absl::StrCat("the last lines of rank ", verdict.rank,
                     " on standard error:"),
        color);
    for (const std::string& line : verdict.last_lines) {
      std::fputs(absl::StrCat("    ", line, "\n").c_str(), stderr);
    }
  }
  if (!verdict.work.empty()) say(verdict.work, color);
  if (verdict.line.empty()) return;
  say(std::string(absl::StripPrefix(verdict.line, "horovodrun: ")), color);
}

absl::StatusOr<int> launch(const std::vector<std::string>& words,
                           int restarts) {
  Environment environment = outside_of_jobs(current_environment());
  environment.erase(kWatchVariable);  // Of a job around this one.
  // A rank's own job is on the rank's host.
  const bool in_a_rank = engine_of_rank(current_environment()) != nullptr;
  HostSource scheduled = [&] { return scheduled_hosts(environment); };
  if (in_a_rank) scheduled = nullptr;
  HVD_ASSIGN_OR_RETURN(
      Arguments arguments,
      parse_arguments(words, environment, scheduled, await_hosts));
  if (!arguments.answer.empty()) {
    std::fputs(arguments.answer.c_str(), stdout);
    if (std::fflush(stdout) == 0) return 0;
    return errno_error("cannot write to standard output");
  }
  count_restarts(restarts, arguments);
  const JobTimelines timelines = add_timelines(arguments, environment);
  if (restarts == 0) {
    for (const std::string& note : arguments.notes) {
      say(note);
    }
  }
  if (arguments.watches && !takes_block(STDERR_FILENO, environment)) {
    arguments.watches = false;
    if (restarts == 0) {
      say("--watch has no effect: standard error is not a terminal that can "
          "show it");
    }
  }
  if (arguments.watches) arguments.settings.emplace(kWatchVariable, "1");
  LaunchContext context = {.agent = own_path(),
                           .token = random_token(),
                           .host_name = host_name(),
                           .root = geteuid() == 0,
                           .has_loopback = loopback_is_up(),
                           .environment = environment};
  HVD_ASSIGN_OR_RETURN(const StartPlan plan,
                       plan_after_preflight(arguments, context));
  if (arguments.verbose) print_plan(plan);
  HVD_ASSIGN_OR_RETURN(const Verdict verdict,
                       run_job({plan, arguments, environment, context.token}));
  const std::vector<std::string> notes =
      timelines.merge({.of_ranks = verdict.hosts,
                       .own_name = context.host_name,
                       .shell = plan.remote_shell,
                       .program = context.agent,
                       .environment = environment});
  for (const std::string& note : notes) say(note);
  say_verdict(verdict);
  if (verdict.exit_code == 0 || verdict.is_final ||
      restarts >= arguments.max_restarts) {
    return verdict.exit_code;
  }
  say(absl::StrCat("restart ", restarts + 1, " of ", arguments.max_restarts));
  return restart(words, restarts + 1);
}

// --agent [--verbose] -- COMMAND...
int agent(const std::vector<std::string>& words) {
  AgentOptions options;
  size_t next = 1;
  if (words.size() > next && words[next] == "--verbose") {
    options.verbose = true;
    ++next;
  }
  if (words.size() < next + 2 || words[next] != "--") {
    return refuse_user("--agent");
  }
  options.command.assign(words.begin() + static_cast<long>(next) + 1,
                         words.end());
  return run_agent(options);
}

// --dump [PID]
int dump(const std::vector<std::string>& words) {
  std::optional<pid_t> pid;
  if (words.size() == 2) {
    pid_t number = 0;
    if (!absl::SimpleAtoi(words[1], &number) || number <= 0) {
      say(absl::StrCat("--dump takes the id of a process, not '", words[1],
                       "'"),
          kBoldRed);
      return kUsageError;
    }
    pid = number;
  } else if (words.size() > 2) {
    say("--dump takes at most the id of one process", kBoldRed);
    return kUsageError;
  }
  std::fputs(dump_of_ranks(pid).c_str(), stdout);
  return std::fflush(stdout) == 0 ? 0 : 1;
}

// Otherwise a descriptor that is opened later could become a standard stream.
void open_closed_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) < 0) static_cast<void>(open("/dev/null", O_RDWR));
  }
}

int run(std::vector<std::string> words) {
  open_closed_streams();
  if (!words.empty() && words[0] == "--agent") return agent(words);
  if (!words.empty() && words[0] == kDescribeHost) {
    return describe_host(words.size() > 1 ? words[1] : "");
  }
  if (!words.empty() && words[0] == kPrintStacks) {
    return print_stacks({words.begin() + 1, words.end()},
                        current_environment());
  }
  if (!words.empty() && words[0] == "--dump") return dump(words);
  if (!words.empty() && words[0] == "--merge-timelines") {
    return run_merge_timelines({words.begin() + 1, words.end()});
  }
  if (!words.empty() && words[0] == kSendTimelines) {
    return send_parts({words.begin() + 1, words.end()});
  }
  if (!words.empty() && words[0] == kMeasureLink) return measure_link();
  if (!words.empty() && words[0] == "doctor") {
    return run_doctor({words.begin() + 1, words.end()}, current_environment());
  }
  if (!words.empty() && words[0] == "report") {
    return run_report({words.begin() + 1, words.end()});
  }
  if (const auto code = run_subcommand(words)) return *code;
  int restarts = 0;
  if (words.size() > 1 && words[0] == kRestart &&
      absl::SimpleAtoi(words[1], &restarts)) {
    words.erase(words.begin(), words.begin() + 2);
  }
  const absl::StatusOr<int> code = launch(words, restarts);
  if (code.ok()) return *code;
  say(std::string(code.status().message()), kBoldRed);
  return code.status().code() == absl::StatusCode::kInvalidArgument
             ? kUsageError
             : 1;
}

}  // namespace
}  // namespace hvd::launcher

int main(int argc, char** argv) {
  return hvd::launcher::run({argv + 1, argv + argc});
}
