// SPDX-License-Identifier: Apache-2.0
// A RankTrace is what the report needs of one rank's timeline: far less than the
// file. A TraceBuilder makes it from the elements.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "horovodrun/report/intervals.h"
#include "horovodrun/report/trace_elements.h"

namespace hvd::launcher::report {

// A batch of operations on one rank: ranks do a batch together. An operation
// whose file has no numbers of batches is a batch of its own.
struct Batch {
  std::optional<std::uint64_t> number = {};  // The same on all ranks.
  double arrived = 0;  // When this rank submitted the last operation.
  double begin = 0;
  double end = 0;
  double bytes = 0;
  int tensors = 0;
  int plane = -1;          // In RankTrace::planes; -1: unknown.
  bool needs_all = false;  // Ends on no rank before all have arrived.

  double waited() const { return end - arrived; }
};

// All operations of one name on one rank.
struct TensorUse {
  std::string name = {};
  double bytes = 0;
  double waited_us = 0;  // In negotiation.
  double ran_us = 0;
  int calls = 0;
  std::vector<double> submitted = {};
};

// A span of the program's work: "backward".
struct WorkSpan {
  int kind = 0;  // In RankTrace::kinds_of_work.
  Interval at = {};
};

struct RankTrace {
  int rank = 0;
  std::string file = {};
  double epoch_us = 0;      // The origin of its times; 0: unknown.
  bool is_merged = false;   // Its file has several ranks, on one clock.
  bool is_complete = true;  // Its file has an end.
  double lost_events = 0;
  std::string break_reason = {};
  std::vector<std::string> in_flight = {};  // Operations without an end.
  Interval extent = {};

  Intervals negotiations = {};
  Intervals runs = {};   // Of collectives.
  Intervals waits = {};  // A thread of the program is blocked.
  std::vector<WorkSpan> work = {};
  std::vector<std::string> kinds_of_work = {};
  std::vector<double> steps = {};   // The marks STEP_END,
  std::vector<double> cycles = {};  // and CYCLE_START.
  std::vector<Batch> batches = {};  // In order of their begin.
  std::vector<std::string> planes = {};
  std::vector<TensorUse> tensors = {};

  // Adds to all times.
  void shift(double us);
};

class TraceBuilder {
 public:
  TraceBuilder(int rank, std::string file);

  // The "process" that an element's pid stands for, without the rank.
  void name_process(std::int64_t pid, const std::string& label);
  void add(const TraceElement& element);
  RankTrace finish();

 private:
  struct Open {
    std::string name;
    double begin = 0;
  };
  struct Thread {
    std::vector<Open> open;
    std::optional<Interval> negotiation;
    std::string plane;
  };
  struct Process {
    std::string label;
    std::optional<std::size_t> tensor;
    std::unordered_map<std::int64_t, Thread> threads;
  };

  // The last batch of a number.
  struct Numbered {
    std::size_t place = 0;  // In the trace.
    int uses = 0;           // Of the number.
  };

  TensorUse& tensor_of(Process& process);
  void mark(const TraceElement& element);
  void end_span(Process& process, Thread& thread, const TraceElement& element);
  void end_operation(Process& process, Thread& thread, const Open& span,
                     const TraceElement& element);

  RankTrace trace_;
  std::unordered_map<std::int64_t, Process> processes_;
  std::unordered_map<std::uint64_t, Numbered> batches_;
  bool has_events_ = false;
};

}  // namespace hvd::launcher::report
