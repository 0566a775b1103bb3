// SPDX-License-Identifier: Apache-2.0
// A JobRecord is the history of a job: how each rank started and ended and what
// it reported, and events of the job as a whole. JobWatch writes it, judge()
// (verdict.h) reads it.
#pragma once

#include <chrono>
#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "horovodpp/core/job/rank_status.h"
#include "horovodpp/core/thread/clock.h"
#include "horovodrun/output/report.h"

namespace hvd::launcher {

struct RankRecord {
  std::string asked_host{};  // The host that the user named for it.
  std::optional<Report> started{};
  std::optional<Report> ended{};
  Clock::TimePoint ended_at{};  // When this process learned it.
  // Its agent, which ends after it, has ended and could not report.
  bool agent_is_gone = false;
  // The launcher or mpirun had begun to end it before it ended, so its end is
  // not a cause.
  bool stopped = false;
  // The last news; nullopt: it has sent none, or none yet.
  std::optional<RankStatus> news{};
  Clock::TimePoint news_at{};
  std::string work{};  // Its last work if it failed, a predicate.
  // Why the job broke for it, unless it has gone on since.
  std::optional<RankStatus> broken{};
  // Why one of its submissions failed, and which rank's leaving is to blame.
  std::optional<RankStatus> peer_left_early{};
  bool was_connected = false;
  Clock::TimePoint connected_at{};  // When it last was.
  bool has_reformed = false;
  bool is_lost = false;      // The others go on without it.
  bool is_newcomer = false;  // Was started while the job ran.
  // Was told to leave an elastic job, so its end is no failure of its host.
  bool is_leaving = false;
  // It had reported nothing when the grace period after others' failures ended.
  bool is_unaware = false;

  bool host_is_lost() const {
    return ended && ended->kind == Report::Kind::kHostLost;
  }
  // It has not joined the job, so its end is no matter of the others'.
  bool is_waiting_newcomer() const { return is_newcomer && !was_connected; }
  bool failed() const { return ended && ended->is_failure(); }
  // As far as is known, and the others need it.
  bool runs() const { return !ended && !agent_is_gone && !is_lost; }
  bool stays() const { return runs() && !is_leaving; }
  // Schedulers end ranks by SIGTERM. A rank that catches the signal says so by
  // its code, as a shell does.
  bool left_as_planned() const {
    return ended &&
           (is_leaving ||
            (ended->kind == Report::Kind::kKilled && ended->value == SIGTERM) ||
            (ended->kind == Report::Kind::kExited &&
             ended->value == 128 + SIGTERM));
  }
  bool tells(RankStatus::Kind kind) const { return news && news->kind == kind; }
};

struct JobRecord {
  std::vector<RankRecord> ranks;
  Clock::Duration start_timeout{};
  bool start_timed_out = false;
  std::string cannot_go_on{};  // Why an elastic job ends; empty: it does not.
  bool cannot_begin = false;   // A rank ended that others need to begin.
  int signal = 0;  // The user's first; 0: none, or a rank failed earlier.
  std::string starter = "mpirun";  // For messages.
  int starter_status = 0;          // As waitpid gives it.
  // By horovodrun, before it had begun to end ranks.
  bool starter_was_ended = false;
  // Of kind kLeftBehind; the rank is -1 if unknown.
  std::vector<Report> left_behind{};
};

// The launcher's number of the rank that rank `by` calls `named`; -1: unknown.
int rank_named(const JobRecord& job, const RankStatus::Named& named, int by);

}  // namespace hvd::launcher
