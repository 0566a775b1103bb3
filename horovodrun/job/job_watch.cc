// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/job/job_watch.h"

#include <algorithm>
#include <csignal>
#include <cstddef>

#include "horovodrun/job/record_state.h"

namespace hvd::launcher {
namespace {

using Kind = Report::Kind;

constexpr Clock::TimePoint kNever = Clock::TimePoint::max();

}  // namespace

JobWatch::JobWatch(const Options& options, Clock::TimePoint now)
    : hosts_need_connections_(options.hosts_need_connections),
      is_elastic_(options.is_elastic),
      start_by_(now + options.start_timeout) {
  record_.start_timeout = options.start_timeout;
  record_.starter = options.starter;
  record_.ranks.resize(static_cast<std::size_t>(options.ranks));
  std::size_t next = 0;
  for (const Host& host : options.hosts) {
    for (int i = 0; i < host.slots && next < record_.ranks.size(); ++i) {
      record_.ranks[next++].asked_host = host.name;
    }
  }
}

int JobWatch::add_newcomer(const std::string& host) {
  RankRecord& rank = record_.ranks.emplace_back();
  rank.asked_host = host;
  rank.is_newcomer = true;
  return static_cast<int>(record_.ranks.size()) - 1;
}

void JobWatch::dismiss(int rank) {
  record_.ranks[static_cast<std::size_t>(rank)].is_leaving = true;
}

void JobWatch::cannot_go_on(const std::string& why, Clock::TimePoint now) {
  if (!record_.cannot_go_on.empty()) return;
  record_.cannot_go_on = why;
  end_by(now);
}

void JobWatch::end_by(Clock::TimePoint time) {
  if (stage_ == Stage::kRunning) end_by_ = std::min(end_by_, time);
}

// mpirun then has nothing to wait for.
void JobWatch::end_if_all_have_ended(Clock::TimePoint now) {
  if (!all_have_ended(record_)) return;
  const bool any_newcomer_waits = std::any_of(
      record_.ranks.begin(), record_.ranks.end(), [](const RankRecord& rank) {
        return rank.is_waiting_newcomer() && !rank.ended;
      });
  end_by(any_newcomer_waits ? now : now + kStarterExitTimeout);
  if (stage_ == Stage::kTerminating) {
    end_by_ = std::min(end_by_, now + kKillStarterAfter);
  }
}

void JobWatch::report_arrived(const Report& report, Clock::TimePoint now) {
  if (report.kind == Kind::kHostLost) return host_lost(report, now);
  if (static_cast<std::size_t>(report.rank) >= record_.ranks.size()) return;
  if (report.kind == Kind::kLeftBehind) return left_behind(report);
  RankRecord& rank = record_.ranks[static_cast<std::size_t>(report.rank)];
  switch (report.kind) {
    case Kind::kStarted:
      rank.started = report;
      if (all_have_started(record_)) start_by_ = kNever;
      break;
    case Kind::kStopping:
      if (!rank.ended && !rank.is_leaving) rank.stopped = true;
      break;
    case Kind::kLeaving:
      // As part of the end of the job, if that ends.
      if (is_elastic_ && !rank.ended && stage_ == Stage::kRunning &&
          record_.signal == 0) {
        rank.is_leaving = true;
      }
      break;
    case Kind::kWork:
      rank.work = report.text;
      break;
    case Kind::kNews:
      if (report.news) news_arrived(rank, *report.news, now);
      break;
    default:
      if (!rank.ended) {
        rank.ended = report;
        rank.ended_at = now;
      }
      end_if_all_have_ended(now);
  }
  look(now);
}

void JobWatch::news_arrived(RankRecord& rank, const RankStatus& news,
                            Clock::TimePoint now) {
  if (news.kind == RankStatus::Kind::kPeerLeftEarly) {
    // It does not change how far the rank has come.
    rank.peer_left_early = news;
    return;
  }
  rank.news = news;
  rank.news_at = now;
  switch (news.kind) {
    case RankStatus::Kind::kJoining:
      rank.was_connected = false;
      break;
    case RankStatus::Kind::kConnected:
      rank.was_connected = true;
      rank.connected_at = now;
      break;
    case RankStatus::Kind::kBroken:
      // A rank of a lost host blames the other side.
      if (!rank.broken && !rank.host_is_lost()) rank.broken = news;
      break;
    case RankStatus::Kind::kReforming:
    case RankStatus::Kind::kPeerLeftEarly:
      break;
    case RankStatus::Kind::kReformed:
      rank.broken.reset();
      rank.peer_left_early.reset();
      rank.has_reformed = true;
      for (const int lost : news.lost) {
        if (static_cast<std::size_t>(lost) >= record_.ranks.size()) continue;
        record_.ranks[static_cast<std::size_t>(lost)].is_lost = true;
      }
  }
}

// The ranks that were to run there end with it. Ranks that have started may do
// without an ssh that a signal ended: Open MPI's daemon has a connection of its
// own.
void JobWatch::host_lost(const Report& report, Clock::TimePoint now) {
  if (stage_ != Stage::kRunning) return;
  if (!hosts_need_connections_ && report.value < 0 &&
      all_have_started(record_)) {
    return;
  }
  bool any_started = false;
  bool any_of_start = false;
  const bool any_other_is_stopped = std::any_of(
      record_.ranks.begin(), record_.ranks.end(), [&](const RankRecord& rank) {
        return rank.asked_host != report.host && rank.stopped;
      });
  for (std::size_t i = 0; i < record_.ranks.size(); ++i) {
    RankRecord& rank = record_.ranks[i];
    if (rank.asked_host != report.host) continue;
    any_started = any_started || rank.started;
    any_of_start = any_of_start || !rank.is_newcomer;
    // A process there that gets a signal stops the host's ranks.
    const bool is_stopped_there = rank.stopped && !any_other_is_stopped;
    if (rank.ended && !is_stopped_there) continue;
    // A scheduler takes the host away.
    rank.is_leaving = rank.is_leaving || (is_elastic_ && is_stopped_there &&
                                          report.value == 128 + SIGTERM);
    rank.ended = report;
    rank.ended->rank = static_cast<int>(i);
    rank.stopped = false;  // By an agent that has lost its starter.
    rank.ended_at = now;
  }
  // mpirun starts no rank before it has reached every host.
  if (any_failure(record_) && any_of_start && !any_started) end_by(now);
  end_if_all_have_ended(now);
  look(now);
}

void JobWatch::signal_arrived(int signal, Clock::TimePoint now) {
  const bool any_open_failure =
      std::any_of(record_.ranks.begin(), record_.ranks.end(), is_open_failure);
  if (record_.signal == 0 && !any_open_failure && !record_.start_timed_out) {
    // Before a rank runs, no process needs time to end.
    const bool any_runs =
        std::any_of(record_.ranks.begin(), record_.ranks.end(),
                    [](const RankRecord& rank) { return rank.started; });
    record_.signal = signal;
    end_by(all_have_started(record_) ? now + kGrace
           : any_runs                ? now + kKillAfter
                                     : now);
  } else {
    end_by(now);
  }
}

void JobWatch::agent_ended(int rank, Clock::TimePoint now) {
  record_.ranks[static_cast<std::size_t>(rank)].agent_is_gone = true;
  end_if_all_have_ended(now);
}

// Several agents may find the same process; the first of them knows its rank.
void JobWatch::left_behind(const Report& process) {
  const bool is_known = std::any_of(
      record_.left_behind.begin(), record_.left_behind.end(),
      [&](const Report& known) {
        return known.pid == process.pid && known.host == process.host;
      });
  if (!is_known) record_.left_behind.push_back(process);
}

void JobWatch::starter_ended(int wait_status) {
  record_.starter_status = wait_status;
}

// Whether the rank is in a job of survivors, or about to enter it.
bool JobWatch::goes_on(const RankRecord& rank, Clock::TimePoint now) const {
  if (rank.ended || rank.is_lost) return false;
  if (rank.tells(RankStatus::Kind::kReforming)) {
    return now < rank.news_at + rank.news->timeout + kGrace;
  }
  // A rank that has lost a peer again is about to report how it goes on.
  const bool is_of_survivors =
      rank.tells(RankStatus::Kind::kReformed) ||
      (rank.is_newcomer && rank.tells(RankStatus::Kind::kConnected));
  return is_of_survivors && std::none_of(record_.ranks.begin(),
                                         record_.ranks.end(), is_open_failure);
}

void JobWatch::check_start(Clock::TimePoint now) {
  if (!waits_forever(record_)) return stuck_since_.reset();
  if (!stuck_since_) stuck_since_ = now;
  const bool any_is_in =
      std::any_of(record_.ranks.begin(), record_.ranks.end(),
                  [](const RankRecord& rank) { return rank.was_connected; });
  const Clock::TimePoint end =
      any_is_in ? *stuck_since_ + kGraceAtStart : *stuck_since_;
  if (now < end) {
    next_check_ = std::min(next_check_, end);
  } else {
    record_.cannot_begin = true;
    end_by(now);
  }
}

void JobWatch::look(Clock::TimePoint now) {
  if (stage_ != Stage::kRunning) return;
  next_check_ = kNever;
  check_start(now);
  bool trouble = false;
  bool anybody_goes_on = false;
  for (const RankRecord& rank : record_.ranks) {
    if (rank.is_waiting_newcomer()) continue;
    trouble = trouble || is_open_failure(rank) || rank.is_lost ||
              (rank.broken && !rank.ended);
    if (!goes_on(rank, now)) continue;
    anybody_goes_on = true;
    if (rank.tells(RankStatus::Kind::kReforming)) {
      next_check_ =
          std::min(next_check_, rank.news_at + rank.news->timeout + kGrace);
    }
  }
  if (!trouble || anybody_goes_on) {
    idle_since_.reset();
  } else if (!idle_since_) {
    idle_since_ = now;
  }
}

std::optional<Clock::TimePoint> JobWatch::end_of_grace() const {
  if (!idle_since_) return std::nullopt;
  Clock::TimePoint end = *idle_since_ + kGraceWithoutFailure;
  Clock::TimePoint last_end = *idle_since_;
  for (const RankRecord& rank : record_.ranks) {
    if (rank.is_waiting_newcomer()) continue;
    last_end = std::max(last_end, rank.ended_at);
    if (!rank.failed() && !rank.is_lost) continue;
    end = std::min(end, std::max(*idle_since_, rank.ended_at) + kGrace);
  }
  if (!only_blamed_are_left(record_)) return end;
  return std::min(end, last_end + kGraceOfBlamed);
}

Clock::TimePoint JobWatch::deadline() const {
  if (stage_ != Stage::kRunning) return end_by_;
  return std::min(
      {start_by_, end_by_, next_check_, end_of_grace().value_or(kNever)});
}

void JobWatch::record_unaware_ranks() {
  for (RankRecord& rank : record_.ranks) {
    rank.is_unaware = rank.was_connected && !rank.ended &&
                      !rank.agent_is_gone && !rank.is_lost && !rank.broken &&
                      !rank.peer_left_early;
  }
}

// A job that has not begun has no work to finish.
std::chrono::milliseconds JobWatch::kill_after() const {
  if (all_have_ended(record_) || record_.cannot_begin) return kKillStarterAfter;
  return only_blamed_are_left(record_) ? kKillBlamedAfter : kKillAfter;
}

JobWatch::Action JobWatch::next_action(Clock::TimePoint now) {
  look(now);
  if (stage_ == Stage::kKilled) return Action::kWait;
  if (stage_ == Stage::kTerminating) {
    if (now < end_by_) return Action::kWait;
    stage_ = Stage::kKilled;
    end_by_ = kNever;
    return Action::kKill;
  }
  const Clock::TimePoint end_of_grace = this->end_of_grace().value_or(kNever);
  if (now < std::min({start_by_, end_by_, end_of_grace})) return Action::kWait;
  if (now >= end_of_grace) record_unaware_ranks();
  record_.start_timed_out = now >= start_by_ && record_.signal == 0;
  record_.starter_was_ended =
      std::none_of(record_.ranks.begin(), record_.ranks.end(),
                   [](const RankRecord& rank) { return rank.stopped; });
  stage_ = Stage::kTerminating;
  end_by_ = now + kill_after();
  // The end of a rank from here on is no cause.
  for (RankRecord& rank : record_.ranks) {
    rank.stopped = rank.stopped || !rank.ended;
  }
  return Action::kTerminate;
}

std::vector<Report> JobWatch::running() const {
  std::vector<Report> reports;
  for (const RankRecord& rank : record_.ranks) {
    if (rank.started && !rank.ended && !rank.agent_is_gone) {
      reports.push_back(*rank.started);
    }
  }
  return reports;
}

}  // namespace hvd::launcher
