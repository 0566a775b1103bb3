// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/core/host_name.h"
#include "horovodpp/core/status.h"
#include "horovodrun/command_line/arguments.h"
#include "horovodrun/engines/local/rank_starter.h"
#include "horovodrun/engines/mpirun/command.h"
#include "horovodrun/engines/mpirun/flavor.h"
#include "horovodrun/engines/mpirun/node_keeper.h"
#include "horovodrun/engines/mpirun/remote_shell.h"
#include "horovodrun/job/job.h"
#include "horovodrun/node/agent.h"
#include "horovodrun/output/report.h"
#include "horovodrun/system/environment.h"
#include "horovodrun/system/process.h"
#include "horovodrun/system/random_token.h"

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

void print_plan(const MpirunCommand& command) {
  std::string text;
  Environment shown = command.added;
  shown.erase(kTokenVariable);
  for (const std::string& variable : to_strings(shown)) {
    absl::StrAppend(&text, "horovodrun: ", variable, "\n");
  }
  absl::StrAppend(&text, "horovodrun: ", shell_quoted(command.argv), "\n");
  std::fputs(text.c_str(), stderr);
}

// Chooses how to start the ranks: by mpirun, if there is one and the user does
// not exclude it, because the command may call MPI itself.
absl::StatusOr<MpiFlavor> choose_flavor(const Arguments& arguments,
                                        const Surroundings& surroundings) {
  if (arguments.way == Arguments::Way::kLocal) return MpiFlavor::kNone;
  const absl::StatusOr<MpiFlavor> installed = installed_flavor();
  const bool can_do_without = arguments.way == Arguments::Way::kAsFits &&
                              needs_mpirun(arguments, surroundings).empty();
  if (absl::IsNotFound(installed.status()) && can_do_without) {
    return MpiFlavor::kNone;
  }
  return installed;
}

absl::StatusOr<int> launch(const std::vector<std::string>& words) {
  const Environment environment = outside_of_jobs(current_environment());
  HVD_ASSIGN_OR_RETURN(const Arguments arguments,
                       parse_arguments(words, environment));
  if (!arguments.answer.empty()) {
    std::fputs(arguments.answer.c_str(), stdout);
    if (std::fflush(stdout) == 0) return 0;
    return errno_error("cannot write to standard output");
  }
  const Surroundings surroundings = {.agent = own_path(),
                                     .token = random_token(),
                                     .host_name = host_name(),
                                     .root = geteuid() == 0,
                                     .has_loopback = loopback_is_up(),
                                     .environment = environment};
  HVD_ASSIGN_OR_RETURN(const MpiFlavor flavor,
                       choose_flavor(arguments, surroundings));
  HVD_ASSIGN_OR_RETURN(const MpirunCommand command,
                       mpirun_command(flavor, arguments, surroundings));
  if (arguments.verbose) print_plan(command);
  HVD_ASSIGN_OR_RETURN(
      const Verdict verdict,
      run_job({flavor, arguments, command, environment, surroundings.token}));
  if (!verdict.line.empty()) {
    std::fputs(absl::StrCat(verdict.line, "\n").c_str(), stderr);
  }
  return verdict.exit_code;
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
    std::fputs("horovodrun: --agent is not for users\n", stderr);
    return kUsageError;
  }
  options.command.assign(words.begin() + static_cast<long>(next) + 1,
                         words.end());
  return run_agent(options);
}

// --start-ranks N AGENT...
int start_ranks(const std::vector<std::string>& words) {
  int ranks = 0;
  if (words.size() < 3 || !absl::SimpleAtoi(words[1], &ranks) || ranks < 1) {
    std::fputs("horovodrun: --start-ranks is not for users\n", stderr);
    return kUsageError;
  }
  return run_rank_starter(ranks, {words.begin() + 2, words.end()});
}

// Otherwise a descriptor that is opened later could become a standard stream.
void open_closed_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) < 0) static_cast<void>(open("/dev/null", O_RDWR));
  }
}

int run(const std::vector<std::string>& words) {
  open_closed_streams();
  if (!words.empty() && words[0] == "--agent") return agent(words);
  if (!words.empty() && words[0] == "--start-ranks") return start_ranks(words);
  if (!words.empty() && words[0] == "--remote-shell") {
    return run_remote_shell({words.begin() + 1, words.end()});
  }
  if (words.size() == 2 && words[0] == "--node") {
    return run_node_keeper(words[1]);
  }
  const absl::StatusOr<int> code = launch(words);
  if (code.ok()) return *code;
  std::fputs(
      absl::StrCat("horovodrun: ", code.status().message(), "\n").c_str(),
      stderr);
  return code.status().code() == absl::StatusCode::kInvalidArgument
             ? kUsageError
             : 1;
}

}  // namespace
}  // namespace hvd::launcher

int main(int argc, char** argv) {
  return hvd::launcher::run({argv + 1, argv + argc});
}
