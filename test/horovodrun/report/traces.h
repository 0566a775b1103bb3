// SPDX-License-Identifier: Apache-2.0
// Makes timelines with known times.
#pragma once

#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace hvd::launcher::report {

class MadeTimeline {
 public:
  MadeTimeline() = default;
  explicit MadeTimeline(int rank, double epoch_us = 0) {
    process(0, absl::StrCat("rank ", rank),
            absl::StrFormat(R"(, "start_time_since_epoch_in_micros": %.0f)",
                            epoch_us));
  }

  void process(int pid, const std::string& name,
               const std::string& arguments = "") {
    add(absl::StrCat(R"({"name": "process_name", "ph": "M", "pid": )", pid,
                     R"(, "args": {"name": ")", name, "\"", arguments, "}}"));
  }
  void span(int pid, const std::string& name, double begin, double end,
            const std::string& arguments = "") {
    event(pid, name, 'B', begin, "");
    event(pid, name, 'E', end, arguments);
  }
  void event(int pid, const std::string& name, char phase, double at,
             const std::string& arguments) {
    add(absl::StrFormat(
        R"({"name": "%s", "ph": "%c", "ts": %.3f, "pid": %d, "args": {%s}})",
        name, phase, at, pid, arguments));
  }
  void mark(const std::string& name, double at) { event(0, name, 'i', at, ""); }
  // An allreduce by shared memory that was submitted, began and ended then.
  void allreduce(int pid, double submitted, double began, double ended,
                 int batch, int bytes) {
    span(pid, "NEGOTIATE_ALLREDUCE", submitted, began);
    event(pid, "ALLREDUCE", 'B', began, "");
    span(pid, "SHM_ALLREDUCE", began, ended);
    event(pid, "ALLREDUCE", 'E', ended,
          absl::StrFormat(R"("bytes": %d, "batch": %d, "dtype": "float32")",
                          bytes, batch));
  }
  void add(const std::string& element) {
    absl::StrAppend(&text_, text_.empty() ? "[\n" : ",\n", element);
  }

  std::string text() const { return text_ + "\n]\n"; }
  std::string write(const std::string& path) const {
    return write_text(path, text());
  }
  static std::string write_text(const std::string& path,
                                const std::string& text) {
    std::ofstream(path) << text;
    return path;
  }

 private:
  std::string text_;
};

}  // namespace hvd::launcher::report
