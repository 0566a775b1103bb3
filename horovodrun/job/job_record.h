// SPDX-License-Identifier: Apache-2.0
// What is known of a job: of each rank, how it started and ended and what it
// told in between, and of the job as a whole what happened to it. JobWatch keeps
// it, judge() (verdict.h) reads it.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "horovodpp/core/clock.h"
#include "horovodpp/core/rank_news.h"
#include "horovodrun/job/report.h"

namespace hvd::launcher {

struct RankRecord {
  std::string asked_host{};  // Where it was to run, as the user named it.
  std::optional<Report> started{};
  std::optional<Report> ended{};
  Clock::TimePoint ended_at{};  // When that was known here.
  // Its agent, which ends after it, has ended without having been able to tell.
  bool agent_is_gone = false;
  // mpirun had begun to end it before it ended: what became of it is no cause.
  bool stopped = false;
  // What it told last; nothing: it does not say, or has not come there yet.
  std::optional<RankNews> news{};
  Clock::TimePoint told_at{};
  // Why the job broke for it, unless it has gone on since.
  std::optional<RankNews> broken{};
  // Why something that it submitted failed, and whose leaving is to blame.
  std::optional<RankNews> hindered{};
  bool was_connected = false;
  bool has_reformed = false;
  bool is_lost = false;  // The others go on without it.
  // When others had failed and the time for it was up it had told nothing.
  bool has_not_noticed = false;

  bool failed() const { return ended && ended->is_failure(); }
  bool tells(RankNews::Kind kind) const { return news && news->kind == kind; }
};

struct JobRecord {
  std::vector<RankRecord> ranks;
  Clock::Duration start_timeout{};
  bool start_timed_out = false;
  bool cannot_begin = false;  // A rank ended that the others wait for to begin.
  int signal = 0;  // The user's first one; 0: none, or a rank failed earlier.
  std::string starter = "mpirun";  // For messages.
  int mpirun_status = 0;           // As waitpid gives it.
  bool mpirun_was_ended = false;   // By horovodrun.
  // Of kind kLeftBehind; the rank is -1 where that is not known.
  std::vector<Report> left_behind{};
};

// The rank that is meant by `named` when rank `by` says so; -1: unknown.
int rank_named(const JobRecord& job, const RankNews::Named& named, int by);

}  // namespace hvd::launcher
