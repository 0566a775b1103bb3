// SPDX-License-Identifier: Apache-2.0
// JobOutput forwards a job's output to this process's own standard streams:
// the starter's output, and the streams of ranks on this host (rank_streams.h).
// It removes the agents' reports.
//
// No call waits. Not thread-safe.
#pragma once

#include <poll.h>

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "horovodpp/core/thread/clock.h"
#include "horovodrun/output/last_lines.h"
#include "horovodrun/output/line_prefix.h"
#include "horovodrun/output/rank_files.h"
#include "horovodrun/output/rank_streams.h"
#include "horovodrun/output/report.h"
#include "horovodrun/output/shown_output.h"
#include "horovodrun/output/stderr_filter.h"

namespace hvd::launcher {

class JobOutput {
 public:
  struct Options {
    std::string token{};                    // Of the reports.
    RankFiles* files = nullptr;             // Get the ranks' output; not null.
    std::span<const NoisePattern> noise{};  // Lines of the starter to drop.
    PrefixStyle prefix{};
  };
  explicit JobOutput(const Options& options);
  ~JobOutput();
  JobOutput(const JobOutput&) = delete;
  JobOutput& operator=(const JobOutput&) = delete;

  // Returns the ends that the starter writes to, for the caller to close; false,
  // with errno, on failure.
  bool open(int* output, int* errors);
  // The name under which agents find the desk; empty: all output comes through
  // the starter.
  const std::string& desk() const { return desk_.name(); }

  // Reads the output, and shows as much as fits. Appends the reports; returns
  // whether there was other output.
  bool drain(std::vector<Report>* reports);

  // The descriptors to wait for, and until when, before there is something to
  // drain.
  void add_awaited(std::vector<pollfd>* fds) const;
  Clock::TimePoint deadline() const;

  // Whether more may come.
  bool is_open() const;
  // Whether some output is not shown yet.
  bool has_unshown() const;
  // Shows a line of the launcher's own, on standard error.
  void say(const std::string& line);
  // Shows a block below all output, on standard error.
  void show_block(std::vector<std::string> lines) {
    shown_errors().show_block(std::move(lines));
  }
  void clear_block() { shown_errors().clear_block(); }

  // The last lines of a rank's standard error; none if they are the last that
  // standard error shows.
  std::vector<std::string> last_lines(int rank) const;
  // One of these lines, which the agent of a rank on another host has reported.
  void add_last_line(int rank, const std::string& line) {
    last_lines_[rank].feed(line + "\n");
  }
  // "" or a message: which output could not be shown, and why.
  std::string error() const;

 private:
  // The destination of standard error.
  ShownOutput& shown_errors() {
    return one_stream_ ? shown_output_ : shown_errors_;
  }
  const ShownOutput& shown_errors() const {
    return one_stream_ ? shown_output_ : shown_errors_;
  }
  bool read_errors(std::vector<Report>* reports);
  bool read_ranks();
  void add_rank(const RankStreamDesk::Arrived& arrived);

  const Options options_;
  // Both of this process's streams lead to the same place.
  const bool one_stream_;
  ReportFilter reports_;
  NoiseFilter noise_;
  ShownOutput shown_output_;
  ShownOutput shown_errors_;
  const int nowhere_;  // The destination of hidden streams.
  ShownOutput hidden_;
  // From the starter.
  ShownSource output_;
  ShownSource errors_;
  const std::size_t own_lines_;  // The source of say().
  std::string file_error_;       // Of the first file that could not be made.
  // From ranks of this host.
  RankStreamDesk desk_;
  std::vector<ShownSource> ranks_;
  std::map<int, LastLines> last_lines_;  // Of standard error, by rank.
};

}  // namespace hvd::launcher
