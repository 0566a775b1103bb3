// SPDX-License-Identifier: Apache-2.0
// What a job writes, on its way to this process's own standard streams: what
// comes out of mpirun, and what ranks of this host write to streams of their own
// (rank_streams.h). Reports of the agents are taken out of it.
//
// Nothing here waits. Not thread-safe.
#pragma once

#include <poll.h>

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "horovodpp/core/clock.h"
#include "horovodrun/job/report.h"
#include "horovodrun/output/rank_files.h"
#include "horovodrun/output/rank_streams.h"
#include "horovodrun/output/shown_output.h"
#include "horovodrun/output/stderr_filter.h"

namespace hvd::launcher {

class JobOutput {
 public:
  struct Options {
    std::string token{};               // Of the reports.
    const RankFiles* files = nullptr;  // Get what ranks write; not null.
    bool shows_remarks =
        false;  // Also what mpirun's daemons say of ended ranks.
  };
  explicit JobOutput(const Options& options);
  ~JobOutput();
  JobOutput(const JobOutput&) = delete;
  JobOutput& operator=(const JobOutput&) = delete;

  // The ends that mpirun writes to, for the caller to close; false, with errno: there
  // are none.
  bool open(int* output, int* errors);
  // Where agents find out; empty: everything comes through mpirun.
  const std::string& desk() const { return desk_.name(); }

  // Reads what has come, and shows what there is room for. Appends the reports;
  // whether there was anything else.
  bool drain(std::vector<Report>* reports);

  // What to wait for, and until when, before there is something to drain.
  void add_awaited(std::vector<pollfd>* fds) const;
  Clock::TimePoint deadline() const;

  // More may come.
  bool is_open() const;
  // Something has come and is not shown yet.
  bool has_unshown() const;
  // "" or what could not be shown, and why.
  std::string error() const;

 private:
  // Where what is meant for standard error goes.
  ShownOutput& shown_errors() {
    return one_stream_ ? shown_output_ : shown_errors_;
  }
  bool read_errors(std::vector<Report>* reports);
  bool read_ranks();

  const Options options_;
  const bool one_stream_;  // Both of this process's lead to the same place.
  ReportFilter reports_;
  NoiseFilter noise_;
  ShownOutput shown_output_;
  ShownOutput shown_errors_;
  // Of mpirun,
  ShownSource output_;
  ShownSource errors_;
  // and of ranks of this host.
  RankStreamDesk desk_;
  std::vector<ShownSource> ranks_;
};

}  // namespace hvd::launcher
