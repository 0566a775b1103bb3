// The judge of a job: what has happened to the ranks so far, what is to be done
// about it and when, and in the end the exit code and the last line.
//
// Ranks that learn of a peer's failure need a moment to say what it means for
// them, so a failure starts a grace period. After it mpirun is told to end, and
// what is left a little later is killed: less than ten seconds in all.
//
// A state machine without clock or I/O. Not thread-safe.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "horovodpp/core/clock.h"
#include "horovodrun/report.h"

namespace hvd::launcher {

struct Verdict {
  int exit_code = 0;
  std::string line;  // Without newline; empty: nothing to say.
};

class JobWatch {
 public:
  enum class Action {
    kWait,       // Until deadline().
    kTerminate,  // Ask mpirun to end the job.
    kKill,       // End every process.
  };

  static constexpr std::chrono::milliseconds kGrace{5000};
  static constexpr std::chrono::milliseconds kTermination{2500};
  static constexpr std::chrono::milliseconds kFarewell{2000};

  // The job begins at `now`, and its ranks have `start_timeout` to start.
  JobWatch(int ranks, Clock::Duration start_timeout, Clock::TimePoint now);

  void report_arrived(const Report& report, Clock::TimePoint now);

  // A request to end, from the user. The second one cuts the grace period
  // short.
  void signal_arrived(int signal, Clock::TimePoint now);

  // mpirun has ended; `wait_status` is as waitpid gives it.
  void mpirun_ended(int wait_status);

  // What to do at `now`. Every action is returned once.
  Action next_action(Clock::TimePoint now);

  // When to ask again although nothing happened.
  Clock::TimePoint deadline() const { return deadline_; }

  // The agents that have started and whose command has not ended, as their
  // reports of the start.
  std::vector<Report> running() const;

  // To be asked after mpirun has ended. `program` is what the ranks ran.
  Verdict verdict(const std::string& program) const;

 private:
  struct Rank {
    std::optional<Report> started;
    std::optional<Report> ended;
  };

  bool all(std::optional<Report> Rank::*what) const;
  void end_by(Clock::TimePoint time);
  const Report* first_failure() const;
  std::string missing_at_start() const;
  Verdict failure_verdict(const Report& failure,
                          const std::string& program) const;
  Verdict mpirun_verdict() const;

  enum class Stage { kStarting, kRunning, kEnding, kTerminating, kKilled };

  std::vector<Rank> ranks_;
  Clock::Duration start_timeout_;
  Stage stage_ = Stage::kStarting;
  Clock::TimePoint deadline_;
  bool start_timed_out_ = false;
  int signal_ = 0;  // The user's first one; 0: none, or a rank failed earlier.
  int mpirun_status_ = 0;
};

}  // namespace hvd::launcher
