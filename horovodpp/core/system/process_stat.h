// SPDX-License-Identifier: Apache-2.0
// The state of another process of this host, seen from outside: fields of
// /proc/<pid>/stat (proc(5)).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace hvd {

struct ProcessStat {
  char state = '?';  // 'R', 'S', 'T' (stopped), 'Z' (zombie) …
  int parent = 0;
  int threads = 0;
  std::int64_t ticks = 0;  // Processor time of all threads.

  // A zombie may have threads that are still running.
  bool is_alive() const {
    return state != 'X' && (state != 'Z' || threads > 1);
  }
};

// nullopt if `text` is not the content of such a file.
std::optional<ProcessStat> parse_process_stat(absl::string_view text);

// Why the process `pid` may not answer: "it is stopped (SIGSTOP or a
// debugger)", "it has ended"; empty if its state shows no reason. (proc(5),
// /proc/pid/stat)
std::string explain_silent_process(std::int64_t pid);

}  // namespace hvd
