// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/system/process_stat.h"

#include <cstddef>
#include <fstream>
#include <iterator>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace hvd {

std::optional<ProcessStat> parse_process_stat(absl::string_view text) {
  // "pid (name) state ...", where a name may contain any character.
  constexpr std::size_t kState = 1;  // Index after the name.
  constexpr std::size_t kParent = 2;
  constexpr std::size_t kUserTicks = 12;
  constexpr std::size_t kSystemTicks = 13;
  constexpr std::size_t kThreads = 18;
  const std::size_t name_end = text.rfind(')');
  if (name_end == absl::string_view::npos) return std::nullopt;
  const std::vector<absl::string_view> fields =
      absl::StrSplit(text.substr(name_end), ' ');
  if (fields.size() <= kThreads || fields[kState].size() != 1) {
    return std::nullopt;
  }
  ProcessStat stat = {.state = fields[kState].front()};
  std::int64_t system_ticks = 0;
  if (!absl::SimpleAtoi(fields[kParent], &stat.parent) ||
      !absl::SimpleAtoi(fields[kUserTicks], &stat.ticks) ||
      !absl::SimpleAtoi(fields[kSystemTicks], &system_ticks) ||
      !absl::SimpleAtoi(fields[kThreads], &stat.threads)) {
    return std::nullopt;
  }
  stat.ticks += system_ticks;
  return stat;
}

std::string explain_silent_process(std::int64_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/stat"));
  if (!file) return "it has ended";
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::optional<ProcessStat> stat = parse_process_stat(text);
  if (!stat) return "";
  if (!stat->is_alive()) return "it has ended";
  switch (stat->state) {
    case 'T':
    case 't':
      return "it is stopped (SIGSTOP or a debugger)";
    case 'D':
      return "it waits in the kernel, for a disk or a network file system";
    default:
      return "";
  }
}

}  // namespace hvd
