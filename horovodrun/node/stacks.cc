// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/node/stacks.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "horovodpp/core/job/host_name.h"
#include "horovodrun/node/crash_library.h"
#include "horovodrun/system/process.h"

namespace hvd::launcher {
namespace {

using SteadyClock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// A debugger reads the symbols of all libraries, and may hang.
constexpr std::chrono::seconds kLimit{30};
constexpr size_t kMaxOutput = 1 << 20;

struct Output {
  std::string text;
  bool timed_out = false;
};

// Runs the command to its end, or kills it at the limit.
Output run_within_limit(const std::vector<std::string>& command,
                        const Environment& environment) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  const Spawned spawned = spawn(command, {.environment = environment,
                                          .reads_nothing = true,
                                          .stdout_fd = ends[1],
                                          .stderr_fd = ends[1],
                                          .death_signal = SIGKILL,
                                          .mask = signal_set({})});
  close(ends[1]);
  Output output;
  const auto end = SteadyClock::now() + kLimit;
  while (spawned.error == 0) {
    const auto left = std::chrono::ceil<milliseconds>(end - SteadyClock::now());
    pollfd readable = {ends[0], POLLIN, 0};
    const int ready =
        poll(&readable, 1,
             static_cast<int>(std::max(left, milliseconds(0)).count()));
    if (ready < 0 && errno == EINTR) continue;
    std::array<char, 1 << 14> bytes;
    const ssize_t count =
        ready > 0 ? read(ends[0], bytes.data(), bytes.size()) : -1;
    if (count == 0) break;
    if (count < 0) {
      output.timed_out = true;
      kill(spawned.pid, SIGKILL);
      break;
    }
    if (output.text.size() < kMaxOutput) {
      output.text.append(bytes.data(), static_cast<size_t>(count));
    }
  }
  close(ends[0]);
  if (spawned.error == 0) waitpid(spawned.pid, nullptr, 0);
  return output;
}

}  // namespace

std::vector<std::string> debugger_command(const std::string& pid,
                                          const Environment& environment) {
  const std::string gdb = find_program("gdb", environment);
  if (!gdb.empty()) {
    return {gdb,
            "-p",
            pid,
            "-nx",
            "-batch",
            "-ex",
            "thread apply all backtrace 64"};
  }
  const std::string stack = find_program("eu-stack", environment);
  if (!stack.empty()) return {stack, "-p", pid};
  return {};
}

std::string without_remarks(absl::string_view output) {
  std::string remarks;
  std::string stacks;
  for (const absl::string_view line : absl::StrSplit(output, '\n')) {
    const bool begins =
        absl::StartsWith(line, "Thread ") || absl::StartsWith(line, "TID ");
    if (line.empty()) continue;
    absl::StrAppend(begins || !stacks.empty() ? &stacks : &remarks, line, "\n");
  }
  return stacks.empty() ? remarks : stacks;
}

int print_stacks(const std::vector<std::string>& words,
                 const Environment& environment) {
  int signal = 0;
  if (words.size() != 3 || !absl::SimpleAtoi(words[2], &signal)) {
    std::fputs("horovodrun: --print-stacks is not for users\n", stderr);
    return 2;
  }
  std::string text = absl::StrCat(
      "horovodrun: rank ", value_in(environment, kCrashRankVariable),
      " on host '", host_name(), "' (pid ", words[0], ", thread ", words[1],
      ") crashes by signal ", signal, " (", strsignal(signal), "); ");
  const std::vector<std::string> command =
      debugger_command(words[0], environment);
  if (command.empty()) {
    std::fputs(absl::StrCat(text,
                            "install gdb there for the stacks of all threads "
                            "(Debian, Ubuntu: apt install gdb)\n")
                   .c_str(),
               stderr);
    return 1;
  }
  std::fputs(absl::StrCat(text, "its stacks by ", command[0], ":\n").c_str(),
             stderr);
  Environment of_debugger = environment;
  of_debugger.erase(
      "DEBUGINFOD_URLS");  // Downloads take longer than the limit.
  const Output output = run_within_limit(command, of_debugger);
  std::fputs(without_remarks(output.text).c_str(), stderr);
  if (output.timed_out) {
    std::fputs(absl::StrCat("horovodrun: ", command[0], " took longer than ",
                            kLimit.count(), " s and was ended\n")
                   .c_str(),
               stderr);
  }
  return absl::StrContains(output.text, "#0") ? 0 : 1;
}

}  // namespace hvd::launcher
