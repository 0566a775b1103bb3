// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/system/process_tree.h"

#include <dirent.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "horovodpp/core/system/process_stat.h"

namespace hvd::launcher {
namespace {

// nullopt if it is gone.
std::optional<ProcessStat> stat_of(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/stat"));
  // A buffer iterator would throw if the process ends meanwhile.
  std::string text;
  std::getline(file, text, '\0');
  return parse_process_stat(text);
}

// Includes ended children that were not waited for. Cheaper than a look at
// every process.
bool has_children() {
  siginfo_t about;
  return waitid(P_ALL, 0, &about, WEXITED | WNOHANG | WNOWAIT) == 0 ||
         errno != ECHILD;
}

namespace fs = std::filesystem;

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

absl::string_view meaning_of_state(char state) {
  switch (state) {
    case 'D':
      return " (waits in the kernel)";
    case 'R':
      return " (runs)";
    case 'T':
    case 't':
      return " (stopped)";
    default:
      return "";
  }
}

// Do not read files that need the process's memory: that takes a lock that a
// stuck thread may hold.
std::string describe(const fs::path& thread, char state) {
  std::string text =
      absl::StrCat("thread ", thread.filename().string(), " is in state ",
                   std::string(1, state), meaning_of_state(state));
  const std::string function = first_line(thread / "wchan");
  if (!function.empty() && function != "0") {
    absl::StrAppend(&text, ", in ", function);
  }
  // "running", or the number and its arguments.
  const std::string call = first_line(thread / "syscall");
  if (!call.empty() && call.front() >= '0' && call.front() <= '9') {
    absl::StrAppend(&text, ", system call ", call.substr(0, call.find(' ')));
  }
  return text;
}

}  // namespace

void adopt_orphans() { prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); }

ProcessTree::ProcessTree() {
  DIR* directory = opendir("/proc");
  if (directory == nullptr) return;
  while (const dirent* entry = readdir(directory)) {
    const pid_t pid =
        static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    const auto stat = pid > 0 ? stat_of(pid) : std::nullopt;
    if (stat && stat->is_alive()) children_.emplace(stat->parent, pid);
  }
  closedir(directory);
}

std::vector<pid_t> ProcessTree::below(pid_t ancestor) const {
  std::vector<pid_t> found = {ancestor};
  for (size_t i = 0; i < found.size(); ++i) {
    const auto [begin, end] = children_.equal_range(found[i]);
    for (auto child = begin; child != end; ++child) {
      found.push_back(child->second);
    }
  }
  found.erase(found.begin());
  return found;
}

std::vector<pid_t> descendants() {
  return has_children() ? ProcessTree().below(getpid()) : std::vector<pid_t>();
}

bool KillTimeout::is_over(const std::vector<pid_t>& pids) {
  std::int64_t ticks = 0;
  for (const pid_t pid : pids) {
    if (const auto stat = stat_of(pid)) ticks += stat->ticks;
  }
  const auto now = std::chrono::steady_clock::now();
  if (pids.size() != count_ || ticks != ticks_) moved_at_ = now;
  count_ = pids.size();
  ticks_ = ticks;
  return now - moved_at_ >= timeout_ || now - began_ >= kMaxTimeout;
}

Killed kill_descendants(std::chrono::milliseconds timeout) {
  KillTimeout waiting(timeout);
  std::optional<int> first_count;
  for (;;) {
    std::vector<pid_t> alive = descendants();
    if (!first_count) first_count = static_cast<int>(alive.size());
    std::erase_if(alive, [](pid_t pid) { return kill(pid, SIGKILL) != 0; });
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    if (alive.empty() || waiting.is_over(alive)) return {*first_count, alive};
    poll(nullptr, 0, 1);
  }
}

std::string where_it_waits(pid_t pid) {
  std::error_code error;
  std::string found = "the system tells nothing about it";
  for (fs::directory_iterator
           entry(fs::path("/proc") / absl::StrCat(pid) / "task", error),
       end;
       !error && entry != end; entry.increment(error)) {
    const auto stat = parse_process_stat(first_line(entry->path() / "stat"));
    if (!stat || stat->state == 'Z' || stat->state == 'X') continue;
    found = describe(entry->path(), stat->state);
    if (stat->state == 'D') break;
  }
  return found;
}

}  // namespace hvd::launcher
