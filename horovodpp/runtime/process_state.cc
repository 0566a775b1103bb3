// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/process_state.h"

#include <pthread.h>

#include <atomic>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"

namespace hvd::runtime {
namespace {

std::atomic<unsigned> forks{0};

}  // namespace

std::string process_remark(std::int64_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/stat"));
  if (!file) return "it has ended";
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  // "pid (name) state ...", and a name may hold anything.
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= text.size()) return "";
  switch (text[name_end + 2]) {
    case 'T':
    case 't':
      return "it is stopped (SIGSTOP or a debugger)";
    case 'Z':
    case 'X':
      return "it has ended";
    case 'D':
      return "it waits in the kernel, for a disk or a network file system";
    default:
      return "";
  }
}

unsigned forks_so_far() {
  static const int watched =
      ::pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1); });
  static_cast<void>(watched);
  return forks.load(std::memory_order_relaxed);
}

}  // namespace hvd::runtime
