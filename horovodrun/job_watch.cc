#include "horovodrun/job_watch.h"

#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace hvd::launcher {
namespace {

std::string describe_signal(int signal) {
  return absl::StrCat("signal ", signal, " (", strsignal(signal), ")");
}

// The exit code of a shell whose command ended like this.
int code_of(int wait_status) {
  if (WIFSIGNALED(wait_status)) return 128 + WTERMSIG(wait_status);
  return WEXITSTATUS(wait_status);
}

}  // namespace

JobWatch::JobWatch(int ranks, Clock::Duration start_timeout,
                   Clock::TimePoint now)
    : ranks_(static_cast<size_t>(ranks)),
      start_timeout_(start_timeout),
      deadline_(now + start_timeout) {}

bool JobWatch::all(std::optional<Report> Rank::*what) const {
  return std::all_of(ranks_.begin(), ranks_.end(), [&](const Rank& rank) {
    return (rank.*what).has_value();
  });
}

void JobWatch::end_by(Clock::TimePoint time) {
  if (stage_ == Stage::kTerminating || stage_ == Stage::kKilled) return;
  deadline_ = stage_ == Stage::kEnding ? std::min(deadline_, time) : time;
  stage_ = Stage::kEnding;
}

void JobWatch::report_arrived(const Report& report, Clock::TimePoint now) {
  if (static_cast<size_t>(report.rank) >= ranks_.size()) return;
  Rank& rank = ranks_[static_cast<size_t>(report.rank)];
  if (report.kind == Report::Kind::kStarted) {
    rank.started = report;
    if (stage_ == Stage::kStarting && all(&Rank::started)) {
      stage_ = Stage::kRunning;
      deadline_ = Clock::TimePoint::max();
    }
    return;
  }
  if (!rank.ended) rank.ended = report;
  if (report.is_failure()) end_by(now + kGrace);
  // mpirun does not always notice that its last rank has ended.
  if (all(&Rank::ended)) end_by(now + kFarewell);
}

void JobWatch::signal_arrived(int signal, Clock::TimePoint now) {
  if (signal_ == 0 && first_failure() == nullptr && !start_timed_out_) {
    // Before a rank runs there is nothing that could need a moment.
    const bool any_runs =
        std::any_of(ranks_.begin(), ranks_.end(),
                    [](const Rank& rank) { return rank.started.has_value(); });
    const bool all_run = stage_ != Stage::kStarting;
    signal_ = signal;
    end_by(all_run ? now + kGrace : any_runs ? now + kFarewell : now);
  } else {
    end_by(now);
  }
}

void JobWatch::mpirun_ended(int wait_status) { mpirun_status_ = wait_status; }

JobWatch::Action JobWatch::next_action(Clock::TimePoint now) {
  if (now < deadline_) return Action::kWait;
  if (stage_ == Stage::kStarting) start_timed_out_ = true;
  if (stage_ == Stage::kStarting || stage_ == Stage::kEnding) {
    stage_ = Stage::kTerminating;
    deadline_ = now + kTermination;
    return Action::kTerminate;
  }
  stage_ = Stage::kKilled;
  deadline_ = Clock::TimePoint::max();
  return Action::kKill;
}

std::vector<Report> JobWatch::running() const {
  std::vector<Report> reports;
  for (const Rank& rank : ranks_) {
    if (rank.started && !rank.ended) reports.push_back(*rank.started);
  }
  return reports;
}

const Report* JobWatch::first_failure() const {
  const Report* first = nullptr;
  for (const Rank& rank : ranks_) {
    if (!rank.ended || !rank.ended->is_failure()) continue;
    if (first == nullptr || rank.ended->time < first->time) {
      first = &*rank.ended;
    }
  }
  return first;
}

std::string JobWatch::missing_at_start() const {
  std::string names;
  int missing = 0;
  for (size_t rank = 0; rank < ranks_.size(); ++rank) {
    if (ranks_[rank].started) continue;
    if (++missing <= 8) {
      absl::StrAppend(&names, names.empty() ? "" : ", ", rank);
    }
  }
  if (missing > 8) absl::StrAppend(&names, " and ", missing - 8, " more");
  return absl::StrCat(missing > 1 ? "ranks " : "rank ", names);
}

Verdict JobWatch::failure_verdict(const Report& failure,
                                  const std::string& program) const {
  std::string line =
      absl::StrCat("rank ", failure.rank, " on host '", failure.host, "' ");
  if (failure.kind == Report::Kind::kNotExecuted) {
    return {failure.value == ENOENT ? 127 : 126,
            absl::StrCat(line, "cannot execute '", program,
                         "': ", std::strerror(failure.value))};
  }
  absl::StrAppend(&line, "(pid ", failure.pid, ") ");
  if (failure.kind == Report::Kind::kKilled) {
    return {128 + failure.value, absl::StrCat(line, "was killed by ",
                                              describe_signal(failure.value))};
  }
  return {failure.value,
          absl::StrCat(line, "exited with code ", failure.value)};
}

Verdict JobWatch::mpirun_verdict() const {
  const auto lost = std::find_if(ranks_.begin(), ranks_.end(),
                                 [](const Rank& rank) { return !rank.ended; });
  if (lost == ranks_.end()) return {};
  const int code = std::max(1, code_of(mpirun_status_));
  std::string line =
      WIFSIGNALED(mpirun_status_)
          ? absl::StrCat("mpirun was killed by ",
                         describe_signal(WTERMSIG(mpirun_status_)))
          : absl::StrCat("mpirun ended with code ",
                         WEXITSTATUS(mpirun_status_));
  absl::StrAppend(&line, " before rank ", lost - ranks_.begin());
  if (!lost->started) return {code, absl::StrCat(line, " had started")};
  return {code, absl::StrCat(line, " on host '", lost->started->host,
                             "' had told how it ended")};
}

Verdict JobWatch::verdict(const std::string& program) const {
  Verdict verdict;
  const Report* failure = first_failure();
  if (signal_ != 0) {
    if (failure == nullptr && all(&Rank::ended)) return {};
    verdict = {128 + signal_,
               absl::StrCat("stopped by ", describe_signal(signal_))};
  } else if (failure != nullptr) {
    verdict = failure_verdict(*failure, program);
  } else if (start_timed_out_) {
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(start_timeout_);
    verdict = {1,
               absl::StrCat(missing_at_start(), " did not start within ",
                            seconds.count(),
                            " s; check that every host can be reached and has "
                            "horovodrun at the same path as here, or raise "
                            "--start-timeout")};
  } else {
    verdict = mpirun_verdict();
  }
  if (!verdict.line.empty()) {
    verdict.line = absl::StrCat("horovodrun: ", verdict.line);
  }
  return verdict;
}

}  // namespace hvd::launcher
