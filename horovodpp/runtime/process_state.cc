// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/process_state.h"

#include <fstream>
#include <iterator>
#include <optional>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/process_stat.h"

namespace hvd::runtime {

std::string process_remark(std::int64_t pid) {
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

}  // namespace hvd::runtime
