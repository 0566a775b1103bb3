// SPDX-License-Identifier: Apache-2.0
// A JobWatch watches a job: it records what has happened to the ranks, decides
// what to do about it and when, and in the end gives the verdict.
//
// Ranks that learn of a peer's failure need a moment to react, so a failure
// starts a grace period. It only runs while no rank re-forms the job
// (Runtime::reform); a re-forming rank may take as long as it likes. After the
// grace period mpirun is told to end, and a little later the remaining
// processes are killed.
//
// A state machine without clock or I/O. Not thread-safe.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "horovodpp/core/thread/clock.h"
#include "horovodrun/command_line/hosts.h"
#include "horovodrun/job/job_record.h"
#include "horovodrun/job/verdict.h"
#include "horovodrun/output/report.h"

namespace hvd::launcher {

class JobWatch {
 public:
  enum class Action {
    kWait,       // Until deadline().
    kTerminate,  // End the ranks that run, and mpirun.
    kKill,       // End every process.
  };

  struct Options {
    int ranks = 1;
    Clock::Duration start_timeout{};      // Within which all ranks must start.
    std::vector<Host> hosts{};            // Requested hosts; empty: this one.
    std::string starter = "mpirun";       // For messages.
    bool hosts_need_connections = false;  // As in StartPlan.
    bool is_elastic = false;
  };

  // After a rank has failed.
  static constexpr std::chrono::milliseconds kGrace{5000};
  // After a rank has ended before it entered the job, while other ranks have
  // entered it. A rank that still waits may yet enter, and notice.
  static constexpr std::chrono::milliseconds kGraceAtStart{500};
  // After ranks have failed and blamed all remaining ranks, if those blame no
  // other rank and are silent.
  static constexpr std::chrono::milliseconds kGraceOfBlamed{500};
  // After the job has broken for another reason: ranks may have much to save.
  static constexpr std::chrono::milliseconds kGraceWithoutFailure{60000};
  static constexpr std::chrono::milliseconds kKillAfter{2500};
  // If only ranks are left that hang, and have had that grace period.
  static constexpr std::chrono::milliseconds kKillBlamedAfter{1500};
  // For mpirun to notice that its last rank has ended, which it sometimes does
  // not, and then to end when told.
  static constexpr std::chrono::milliseconds kStarterExitTimeout{400};
  static constexpr std::chrono::milliseconds kKillStarterAfter{300};

  JobWatch(const Options& options, Clock::TimePoint now);

  void report_arrived(const Report& report, Clock::TimePoint now);

  // An elastic job gets a rank, which is to run on this host; returns its
  // number.
  int add_newcomer(const std::string& host);
  // A rank of an elastic job is told to leave.
  void dismiss(int rank);
  // An elastic job ends, because of `why`.
  void cannot_go_on(const std::string& why, Clock::TimePoint now);

  // A request to end, from the user. The second one cuts the grace period
  // short.
  void signal_arrived(int signal, Clock::TimePoint now);

  // mpirun has ended; `wait_status` is as waitpid gives it.
  void starter_ended(int wait_status);

  // The agent of a rank that is running() is gone; while mpirun is ending it
  // passes on no reports.
  void agent_ended(int rank, Clock::TimePoint now);
  // As in a report of that kind; its rank may be -1.
  void left_behind(const Report& process);

  const JobRecord& record() const { return record_; }
  bool is_ending() const { return stage_ == Stage::kTerminating; }
  // No end of the job has begun.
  bool is_running() const { return stage_ == Stage::kRunning; }

  // The action to take at `now`. Every action is returned once.
  Action next_action(Clock::TimePoint now);

  // When to call next_action() again without an event.
  Clock::TimePoint deadline() const;

  // The agents that have started and whose command has not ended, as their
  // reports of the start.
  std::vector<Report> running() const;

  // Call it after mpirun has ended. `program` is the ranks' program.
  Verdict verdict(const std::string& program) const {
    return judge(record_, program);
  }

 private:
  enum class Stage { kRunning, kTerminating, kKilled };

  std::chrono::milliseconds kill_after() const;
  void news_arrived(RankRecord& rank, const RankStatus& news,
                    Clock::TimePoint now);
  void host_lost(const Report& report, Clock::TimePoint now);
  bool goes_on(const RankRecord& rank, Clock::TimePoint now) const;
  void check_start(Clock::TimePoint now);
  void record_unaware_ranks();
  void end_by(Clock::TimePoint time);
  void end_if_all_have_ended(Clock::TimePoint now);
  void look(Clock::TimePoint now);
  std::optional<Clock::TimePoint> end_of_grace() const;

  JobRecord record_;
  bool hosts_need_connections_ = false;
  bool is_elastic_ = false;
  Stage stage_ = Stage::kRunning;
  Clock::TimePoint start_by_;
  Clock::TimePoint end_by_ = Clock::TimePoint::max();
  // Since when a failure stands and no rank has gone on.
  std::optional<Clock::TimePoint> idle_since_;
  std::optional<Clock::TimePoint> stuck_since_;  // waits_forever().
  Clock::TimePoint next_check_ = Clock::TimePoint::max();
};

}  // namespace hvd::launcher
