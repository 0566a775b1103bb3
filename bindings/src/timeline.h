// SPDX-License-Identifier: Apache-2.0
// A Timeline writes rank 0's operations, from call to completion, to a file for
// chrome://tracing and Perfetto. Every tensor is a "process", as in Horovod's
// timelines:
//
//   Timeline::instance().start("timeline.json");
//   const auto span = Timeline::instance().begin("ALLREDUCE", "loss");
//   ...
//   Timeline::instance().end(span);
//   Timeline::instance().stop();
//
// The file is valid JSON after every event. Thread-safe.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>
#include <unordered_map>

namespace hvd::python {

class Timeline {
 public:
  // The file of the operation, the tensor, and the operation. `file` 0: no
  // file.
  struct Span {
    int file = 0;
    int tensor = 0;
    const char* kind = "";
  };

  // The process's timeline. It is never destroyed, as operations may end late.
  static Timeline& instance();

  // Closes the present file, if any, and writes to `path` from here on. Returns
  // false if `path` cannot be written.
  bool start(const std::string& path);
  void stop();
  bool is_on() const { return on_.load(std::memory_order_relaxed); }

  Span begin(const char* kind, const std::string& tensor);
  // Does nothing if the file of `span` is closed.
  void end(const Span& span);

 private:
  int number_of(const std::string& tensor);
  void event(const char* phase, const Span& span);
  void write(const std::string& line);

  std::atomic<bool> on_ = false;
  std::mutex mutex_;  // Guards the members below.
  std::FILE* out_ = nullptr;
  int files_ = 0;
  bool has_lines_ = false;
  std::chrono::steady_clock::time_point start_;
  std::unordered_map<std::string, int> tensors_;
};

void add_timeline(nanobind::module_& module);

}  // namespace hvd::python
