// SPDX-License-Identifier: Apache-2.0
// A timeline of one rank, as a rank writes it (horovodpp/telemetry/timeline).
#pragma once

#include <string>

#include "absl/strings/str_cat.h"

namespace hvd::launcher {

struct Part {
  int rank = 0;
  std::string clock = "boot";
  long steady_ns = 0;
  long epoch_us = 0;
  double begin = 100;  // Of its batch.
};

inline std::string text_of_part(const Part& part) {
  const auto at = [&](double later) {
    return absl::StrCat(R"("ts": )", part.begin + later);
  };
  return absl::StrCat(
      R"([
{"name": "process_name", "ph": "M", "pid": 0, "args": {"name": "rank )",
      part.rank, R"(", "start_time_since_epoch_in_micros": )", part.epoch_us,
      R"(, "start_of_steady_clock_in_nanos": )", part.steady_ns,
      R"(, "clock": ")", part.clock, R"("}},
{"name": "process_sort_index", "ph": "M", "pid": 0, "args": {"sort_index": 0}},
{"name": "process_name", "ph": "M", "pid": 1, "args": {"name": "allreduce.\"ts\": 5"}},
{"name": "NEGOTIATE_ALLREDUCE", "ph": "B", )",
      at(0), R"(, "pid": 1},
{"name": "NEGOTIATE_ALLREDUCE", "ph": "E", )",
      at(1), R"(, "pid": 1},
{"name": "ALLREDUCE", "ph": "B", )",
      at(2), R"(, "pid": 1},
{"name": "ALLREDUCE", "ph": "E", )",
      at(10), R"(, "pid": 1, "args": {"bytes": 4, "batch": 7}},
{"name": "STEP_END", "ph": "i", "s": "g", "pid": 0, )",
      at(11), R"(},
{"name": "lost_events", "ph": "M", "pid": 0, "args": {"count": 0}}
]
)");
}

}  // namespace hvd::launcher
