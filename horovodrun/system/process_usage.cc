// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/system/process_usage.h"

#include <unistd.h>

#include <cstddef>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/system/process_stat.h"

namespace hvd::launcher {
namespace {

constexpr std::size_t kMaxProcesses = 256;

std::string file_of(pid_t pid, const char* name) {
  return absl::StrCat("/proc/", pid, "/", name);
}

}  // namespace

ProcessUsage usage_of_tree(pid_t root) {
  static const std::int64_t ticks_per_second = sysconf(_SC_CLK_TCK);
  static const std::int64_t page_kib = sysconf(_SC_PAGESIZE) / 1024;
  ProcessUsage usage;
  std::vector<pid_t> processes = {root};
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const pid_t pid = processes[i];
    std::string line;
    std::ifstream stat_file(file_of(pid, "stat"));
    std::getline(stat_file, line);
    if (const auto stat = parse_process_stat(line)) {
      usage.cpu_ms += stat->ticks * 1000 / ticks_per_second;
    }
    std::int64_t size = 0;
    std::int64_t resident = 0;
    if (std::ifstream(file_of(pid, "statm")) >> size >> resident) {
      usage.resident_kib += resident * page_kib;
    }
    std::ifstream children(
        file_of(pid, absl::StrCat("task/", pid, "/children").c_str()));
    pid_t child = 0;
    while (processes.size() < kMaxProcesses && children >> child) {
      processes.push_back(child);
    }
  }
  return usage;
}

}  // namespace hvd::launcher
