// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/system/stuck_process.h"

#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "horovodpp/core/process_stat.h"

namespace hvd::launcher {
namespace {

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
