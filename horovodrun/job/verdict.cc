// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/job/verdict.h"

#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <functional>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "horovodrun/system/process.h"
#include "horovodrun/system/process_tree.h"

namespace hvd::launcher {
namespace {

constexpr std::size_t kMaxNamed = 8;

std::string describe_signal(int signal) {
  return absl::StrCat("signal ", signal, " (", strsignal(signal), ")");
}

// The exit code of a shell whose command ended like this.
int code_of(int wait_status) {
  if (WIFSIGNALED(wait_status)) return 128 + WTERMSIG(wait_status);
  return WEXITSTATUS(wait_status);
}

int code_of(const Report& end) {
  switch (end.kind) {
    case Report::Kind::kNotExecuted:
      return end.value == ENOENT ? 127 : 126;
    case Report::Kind::kKilled:
      return 128 + end.value;
    case Report::Kind::kHostLost:
      return 1;
    default:
      return end.value;
  }
}

// The first reason that the rank reported for its failure in the job; nullptr:
// it has reported none.
const RankStatus* reason_of(const RankRecord& rank) {
  if (rank.peer_left_early) return &*rank.peer_left_early;
  return rank.broken ? &*rank.broken : nullptr;
}

std::vector<RankStatus::Named> blamed_by(const RankRecord& rank) {
  const RankStatus* reason = reason_of(rank);
  return reason == nullptr ? std::vector<RankStatus::Named>()
                           : reason->culprits;
}

class Judge {
 public:
  Judge(const JobRecord& job, const std::string& program);
  // Includes the ranks that were ended because they had not noticed a failure.
  Verdict verdict() const;

 private:
  Verdict cause() const;
  std::string unaware_ranks() const;
  std::vector<std::string> left_behind() const;
  using Test = std::function<bool(const RankRecord&)>;

  const RankRecord& record(int rank) const {
    return job_.ranks[static_cast<std::size_t>(rank)];
  }
  bool all(const Test& test) const {
    return std::all_of(job_.ranks.begin(), job_.ranks.end(), test);
  }
  bool follows(int rank) const;
  int first_failure(const std::function<bool(int)>& counts) const;
  int own_failure() const;
  int most_blamed() const;
  std::string describe(int rank) const;
  std::string end_of(int rank) const;
  std::string own_reason(int rank) const;
  std::string missing_at_start() const;
  Verdict failure_verdict(int rank) const;
  Verdict host_verdict(int rank) const;
  Verdict start_verdict() const;
  Verdict beginning_verdict() const;
  Verdict blame_verdict(int rank) const;
  Verdict starter_verdict() const;
  Verdict went_on_verdict() const;
  Verdict end_of_elastic_verdict() const;

  const JobRecord& job_;
  const std::string& program_;
  std::vector<int> blames_;  // For each rank, how many others blame it.
};

Judge::Judge(const JobRecord& job, const std::string& program)
    : job_(job), program_(program), blames_(job.ranks.size()) {
  for (int by = 0; by < static_cast<int>(job.ranks.size()); ++by) {
    for (const RankStatus::Named& named : blamed_by(record(by))) {
      const int rank = rank_named(job, named, by);
      if (rank < 0 || rank == by) continue;
      // It only reacted to another rank's leaving.
      if (record(rank).peer_left_early) continue;
      ++blames_[static_cast<std::size_t>(rank)];
    }
  }
}

// Whether the rank has reported that the job failed, and did not blame itself.
bool Judge::follows(int rank) const {
  if (reason_of(record(rank)) == nullptr) return false;
  const std::vector<RankStatus::Named> culprits = blamed_by(record(rank));
  return std::none_of(culprits.begin(), culprits.end(),
                      [&](const RankStatus::Named& named) {
                        return rank_named(job_, named, rank) == rank;
                      });
}

int Judge::first_failure(const std::function<bool(int)>& counts) const {
  int first = -1;
  const auto order = [&](int rank) {
    const bool blamed = blames_[static_cast<std::size_t>(rank)] > 0;
    return std::make_tuple(!blamed, record(rank).ended->time);
  };
  for (int rank = 0; rank < static_cast<int>(job_.ranks.size()); ++rank) {
    if (!record(rank).failed() || record(rank).is_waiting_newcomer() ||
        !counts(rank)) {
      continue;
    }
    if (first < 0 || order(rank) < order(first)) first = rank;
  }
  return first;
}

int Judge::own_failure() const {
  return first_failure([&](int rank) {
    const RankRecord& of = record(rank);
    return !of.stopped && !of.is_lost && !follows(rank);
  });
}

int Judge::most_blamed() const {
  int most = -1;
  for (int rank = 0; rank < static_cast<int>(job_.ranks.size()); ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    if (blames_[at] == 0 || record(rank).is_lost) continue;
    if (most < 0 || blames_[at] > blames_[static_cast<std::size_t>(most)]) {
      most = rank;
    }
  }
  return most;
}

// "rank 1 on host 'a' (pid 12)".
std::string Judge::describe(int rank) const {
  const RankRecord& of = record(rank);
  std::string host = of.asked_host;
  int pid = 0;
  if (of.started) host = of.started->host;
  if (of.ended) host = of.ended->host;
  if (of.news) pid = static_cast<int>(of.news->pid);
  if (of.ended && of.ended->pid != 0) pid = of.ended->pid;
  if (of.ended && of.ended->kind == Report::Kind::kNotExecuted) pid = 0;
  std::string text = absl::StrCat("rank ", rank, " on host '", host, "'");
  if (pid != 0) absl::StrAppend(&text, " (pid ", pid, ")");
  return text;
}

std::string Judge::end_of(int rank) const {
  const auto& ended = record(rank).ended;
  if (!ended) return "was not heard of any more";
  if (record(rank).is_leaving) return "left as planned";
  switch (ended->kind) {
    case Report::Kind::kNotExecuted:
      return absl::StrCat("cannot execute '", program_,
                          "': ", describe_start_error(ended->value));
    case Report::Kind::kKilled:
      return absl::StrCat("was killed by ", describe_signal(ended->value));
    case Report::Kind::kHostLost:
      return "was lost with its host";
    default:
      return absl::StrCat("exited with code ", ended->value);
  }
}

Verdict Judge::failure_verdict(int rank) const {
  const Report& end = *record(rank).ended;
  if (record(rank).host_is_lost()) return host_verdict(rank);
  return {
      .exit_code = code_of(end),
      .line = absl::StrCat(describe(rank), " ", end_of(rank), own_reason(rank)),
      .rank = rank};
}

// ": it has …", if the rank blamed itself, and not only for its exit.
std::string Judge::own_reason(int rank) const {
  const RankStatus* told = reason_of(record(rank));
  if (told == nullptr) return "";
  absl::string_view rest = told->reason;
  const auto named = take_named(&rest);
  if (!named || rank_named(job_, *named, rank) != rank ||
      !absl::ConsumePrefix(&rest, " ") || rest == end_of(rank)) {
    return "";
  }
  return absl::StrCat(": it ", rest);
}

Verdict Judge::host_verdict(int rank) const {
  const Report& end = *record(rank).ended;
  const std::string connection =
      end.value < 0
          ? absl::StrCat("the ssh connection to it ended by ",
                         describe_signal(-end.value))
          : absl::StrCat("what connected to it ended with code ", end.value);
  std::vector<std::string> ranks;
  bool any_started = false;
  for (std::size_t i = 0; i < job_.ranks.size(); ++i) {
    const auto& other = job_.ranks[i].ended;
    if (!other || other->kind != end.kind || other->host != end.host) continue;
    any_started = any_started || job_.ranks[i].started;
    if (ranks.size() < kMaxNamed) ranks.push_back(absl::StrCat(i));
  }
  const std::string names = absl::StrCat(ranks.size() > 1 ? "ranks " : "rank ",
                                         absl::StrJoin(ranks, ", "));
  if (any_started) {
    return {1, absl::StrCat("host '", end.host, "' was lost, and with it ",
                            names, "; ", connection)};
  }
  return {1, absl::StrCat("host '", end.host, "' cannot be reached for ", names,
                          ": ", connection, "; check that 'ssh ", end.host,
                          " true' works without a password",
                          job_.starter == "mpirun"
                              ? ", and that Open MPI is installed there"
                              : "")};
}

std::string Judge::missing_at_start() const {
  std::vector<std::string> names;
  std::vector<std::string> hosts;
  std::size_t missing = 0;
  for (std::size_t rank = 0; rank < job_.ranks.size(); ++rank) {
    const RankRecord& of = job_.ranks[rank];
    if (of.started) continue;
    if (++missing <= kMaxNamed) names.push_back(absl::StrCat(rank));
    const std::string host = absl::StrCat("'", of.asked_host, "'");
    if (!of.asked_host.empty() && hosts.size() < kMaxNamed &&
        std::find(hosts.begin(), hosts.end(), host) == hosts.end()) {
      hosts.push_back(host);
    }
  }
  std::string text = absl::StrCat(missing > 1 ? "ranks " : "rank ",
                                  absl::StrJoin(names, ", "));
  if (missing > kMaxNamed) {
    absl::StrAppend(&text, " and ", missing - kMaxNamed, " more");
  }
  if (!hosts.empty()) {
    absl::StrAppend(&text, " (host ", absl::StrJoin(hosts, ", "), ")");
  }
  return text;
}

Verdict Judge::start_verdict() const {
  return {1, absl::StrCat(
                 missing_at_start(), " did not start within ",
                 std::chrono::duration<double>(job_.start_timeout).count(),
                 " s; check that every host can be reached, has horovodrun at "
                 "the same path as here, and allows this user enough processes "
                 "(ulimit -u), or raise --start-timeout")};
}

Verdict Judge::beginning_verdict() const {
  for (int rank = 0; rank < static_cast<int>(job_.ranks.size()); ++rank) {
    const RankRecord& of = record(rank);
    if (!of.ended || of.stopped || of.was_connected) continue;
    return {.exit_code = 1,
            .line = absl::StrCat(describe(rank), " ", end_of(rank),
                                 " before it had entered the job, for which "
                                 "others waited"),
            .rank = rank};
  }
  return starter_verdict();
}

Verdict Judge::blame_verdict(int rank) const {
  int code = 1;
  const int follower = first_failure(
      [&](int other) { return other != rank && !record(other).stopped; });
  if (follower >= 0) code = std::max(1, code_of(*record(follower).ended));
  const auto& ended = record(rank).ended;
  if (ended && !record(rank).stopped) {
    return {.exit_code = code,
            .line = absl::StrCat(describe(rank), " ", end_of(rank),
                                 " while others still needed it"),
            .rank = rank};
  }
  std::string reason;
  for (const RankRecord& by : job_.ranks) {
    const RankStatus* told = reason_of(by);
    if (reason.empty() && told != nullptr) reason = told->reason;
  }
  return {.exit_code = code,
          .line = absl::StrCat(describe(rank), " broke the job: ", reason),
          .rank = rank};
}

Verdict Judge::starter_verdict() const {
  const auto lost_if = [&](const Test& test) {
    return std::find_if(job_.ranks.begin(), job_.ranks.end(), test);
  };
  // Ranks that mpirun ended, and that reported so, do not count.
  auto lost =
      lost_if([](const RankRecord& of) { return !of.ended && !of.stopped; });
  if (lost == job_.ranks.end()) {
    lost = lost_if([](const RankRecord& of) { return !of.ended; });
  }
  if (lost == job_.ranks.end()) {
    lost = lost_if([](const RankRecord& of) { return of.failed(); });
  }
  if (lost == job_.ranks.end()) return {};
  const int status = job_.starter_status;
  std::string line = WIFSIGNALED(status)
                         ? absl::StrCat(job_.starter, " was killed by ",
                                        describe_signal(WTERMSIG(status)))
                         : absl::StrCat(job_.starter, " ended with code ",
                                        WEXITSTATUS(status));
  const int code = std::max(1, code_of(status));
  if (!lost->started) {
    return {code,
            absl::StrCat(line, " before ", missing_at_start(), " had started")};
  }
  return {code, absl::StrCat(
                    line, " before rank ", lost - job_.ranks.begin(),
                    " on host '", lost->started->host,
                    lost->ended ? "' had ended" : "' had told how it ended")};
}

Verdict Judge::went_on_verdict() const {
  std::vector<std::string> lost;
  std::size_t more = 0;
  for (int rank = 0; rank < static_cast<int>(job_.ranks.size()); ++rank) {
    if (!record(rank).is_lost) continue;
    if (lost.size() == kMaxNamed) {
      ++more;
      continue;
    }
    const bool alive = !record(rank).ended || record(rank).stopped;
    lost.push_back(absl::StrCat(describe(rank), ", which ",
                                alive ? "was silent" : end_of(rank)));
  }
  if (lost.empty()) return {};
  std::string line = absl::StrCat("the job went on, and ended well, without ",
                                  absl::StrJoin(lost, "; without "));
  if (more > 0) absl::StrAppend(&line, "; and without ", more, " more");
  return {0, line};
}

// Names the rank that was lost last.
Verdict Judge::end_of_elastic_verdict() const {
  int last = -1;
  for (int rank = 0; rank < static_cast<int>(job_.ranks.size()); ++rank) {
    const RankRecord& of = record(rank);
    if (!of.failed() || of.is_waiting_newcomer() || of.stopped) continue;
    if (last < 0 || record(last).ended_at <= of.ended_at) last = rank;
  }
  std::string line = absl::StrCat("the job cannot go on: ", job_.cannot_go_on);
  if (last >= 0) {
    absl::StrAppend(&line, "; ", describe(last), " ", end_of(last));
  }
  return {.exit_code = 1, .line = line, .rank = last};
}

std::string Judge::unaware_ranks() const {
  std::vector<std::string> names;
  std::size_t count = 0;
  for (int rank = 0; rank < static_cast<int>(job_.ranks.size()); ++rank) {
    const bool is_blamed = blames_[static_cast<std::size_t>(rank)] > 0;
    if (!record(rank).is_unaware || is_blamed) continue;
    if (++count <= kMaxNamed) names.push_back(describe(rank));
  }
  if (count == 0) return "";
  std::string text = absl::StrJoin(names, ", ");
  if (count > kMaxNamed) {
    absl::StrAppend(&text, " and ", count - kMaxNamed, " more");
  }
  return absl::StrCat("; ", text, " did not notice and had to be ended");
}

std::vector<std::string> Judge::left_behind() const {
  std::vector<std::string> texts;
  for (const Report& process : job_.left_behind) {
    if (texts.size() == kMaxNamed) break;
    std::string text = absl::StrCat("process ", process.pid);
    if (process.rank >= 0) absl::StrAppend(&text, " of rank ", process.rank);
    absl::StrAppend(&text, " on host '", process.host,
                    "' is left behind: ", kKillIsNoEnd, process.text);
    texts.push_back(std::move(text));
  }
  return texts;
}

Verdict Judge::verdict() const {
  Verdict verdict = cause();
  if (verdict.rank >= 0 && !record(verdict.rank).work.empty()) {
    verdict.work =
        absl::StrCat("rank ", verdict.rank, " ", record(verdict.rank).work);
  }
  if (!verdict.line.empty()) verdict.line += unaware_ranks();
  for (const std::string& text : left_behind()) {
    absl::StrAppend(&verdict.line, verdict.line.empty() ? "" : "; ", text);
  }
  return verdict;
}

Verdict Judge::cause() const {
  const auto ended_well = [](const RankRecord& of) {
    return of.is_lost || of.is_waiting_newcomer() ||
           (of.ended && (!of.failed() || of.is_leaving));
  };
  const bool any_left = !all([](const RankRecord& of) {
    return of.is_lost || of.is_waiting_newcomer() || of.is_leaving;
  });
  if (job_.signal != 0) {
    if (all(ended_well)) return {};
    return {128 + job_.signal,
            absl::StrCat("stopped by ", describe_signal(job_.signal))};
  }
  if (any_left && all(ended_well) && !job_.cannot_begin) {
    return went_on_verdict();
  }
  if (!job_.cannot_go_on.empty()) return end_of_elastic_verdict();
  if (const int rank = own_failure(); rank >= 0) return failure_verdict(rank);
  if (job_.start_timed_out) return start_verdict();
  if (job_.cannot_begin) return beginning_verdict();
  const bool any_stopped =
      !all([](const RankRecord& of) { return !of.stopped; });
  if (!job_.starter_was_ended &&
      (any_stopped || WIFSIGNALED(job_.starter_status))) {
    return starter_verdict();
  }
  if (const int rank = most_blamed(); rank >= 0) return blame_verdict(rank);
  const int rank =
      first_failure([&](int other) { return !record(other).stopped; });
  return rank >= 0 ? failure_verdict(rank) : starter_verdict();
}

}  // namespace

Verdict judge(const JobRecord& job, const std::string& program) {
  Verdict verdict = Judge(job, program).verdict();
  if (!verdict.line.empty()) {
    verdict.line = absl::StrCat("horovodrun: ", verdict.line);
  }
  return verdict;
}

}  // namespace hvd::launcher
