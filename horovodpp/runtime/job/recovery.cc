// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/job/recovery.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "horovodpp/core/job/rank_status.h"
#include "horovodpp/core/job/ranks.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/system/failpoints.h"
#include "horovodpp/core/thread/clock.h"
#include "horovodpp/runtime/channels/launcher_channel.h"
#include "horovodpp/runtime/job/job.h"
#include "horovodpp/transport/subset_communicator.h"

namespace hvd::runtime {
namespace {

using coordinator::Certainty;
using std::chrono::steady_clock;

// Time limit for sending the last messages of a rank that gives up.
constexpr std::chrono::milliseconds kLastMailTimeout(100);

// Limits the time sent to the launcher, which adds it to its own clock.
constexpr std::chrono::hours kLongestTold(24 * 365);

// The pause between two polls of the wires: short at first, when answers are
// due.
class Pause {
 public:
  void take() {
    if (++looks_ < 200) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }

 private:
  int looks_ = 0;
};

// The settings of a later epoch, without those that name ranks, because ranks
// have new numbers.
Config without_ranks(Config config) {
  config.expected_size = 0;
  config.process_sets.clear();
  config.unsupported.clear();  // Already logged.
  config.timeline.clear();     // Goes on, where a rank has one.
  return config;
}

}  // namespace

Recovery::Recovery(const Config& config, std::vector<int> numbers)
    : config_(without_ranks(config)), numbers_(std::move(numbers)) {}

Recovery::~Recovery() = default;

absl::StatusOr<std::shared_ptr<Job>> Recovery::reform(
    const std::shared_ptr<Job>& broken, const std::vector<int>& suspects) {
  MutexLock lock(mutex_);
  HVD_RETURN_IF_ERROR(end(broken));
  kept_ = broken->kept();
  const auto deadline = deadline_after(config_.start_timeout);
  const LauncherChannel launcher(config_.launcher);
  launcher.reforming(std::min<std::chrono::nanoseconds>(
      deadline - steady_clock::now(), kLongestTold));
  HVD_RETURN_IF_ERROR(pass_failpoint(Failpoint::kReformBegun));
  begin(suspects);
  absl::StatusOr<std::shared_ptr<Job>> job = start_next_epoch(deadline);
  if (!job.ok()) {
    launcher.broken(job.status());
    verdict_ = give_up(job.status());
    return verdict_;
  }
  launcher.reformed((*job)->topology().rank() == 0 ? lost_so_far()
                                                   : std::vector<int>());
  current_ = job->get();
  warn_of_lost_sets(*broken, **job);
  return job;
}

// Ranks have new numbers, so only the user can say which ranks a set means.
void Recovery::warn_of_lost_sets(const Job& broken, Job& job) {
  std::vector<std::string> names;
  for (const ProcessSet& set : broken.sets().all()) {
    if (!set.is_global()) names.push_back(set.to_string());
  }
  if (names.empty() || job.topology().rank() != 0) return;
  job.log().warning(absl::StrCat(
      "the process sets of the broken job are gone: ",
      absl::StrJoin(names, ", "),
      "; add those that are still wanted by the ranks' new numbers "
      "(add_process_set)"));
}

absl::Status Recovery::end(const std::shared_ptr<Job>& broken) {
  const bool first = router_ == nullptr;
  if (!verdict_.ok()) return verdict_;
  if (!first && broken.get() != current_) {
    return absl::FailedPreconditionError(
        "this job has been re-formed already; re-form the job that came of it");
  }
  const std::string refusal =
      "only a broken job can be re-formed, and this one is not broken";
  if (broken->status().ok()) return absl::FailedPreconditionError(refusal);
  if (!broken->wires().has_open_descriptors()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "this rank cannot re-form the job: it ", kClosedDescriptors));
  }
  const absl::Status reason = broken->stop();
  // Called in a callback.
  if (absl::IsFailedPrecondition(reason)) return reason;
  if (reason.ok()) return absl::FailedPreconditionError(refusal);
  current_ = nullptr;
  if (!first) {
    ended_.push_back(broken);
    return absl::OkStatus();
  }
  router_ = std::make_shared<transport::EpochRouter>(
      std::shared_ptr<transport::Communicator>(broken, &broken->wires()));
  MutexLock vote_lock(vote_mutex_);
  vote_.emplace(router_->wires().rank(), router_->wires().size());
  return absl::OkStatus();
}

void Recovery::begin(const std::vector<int>& suspects) {
  MutexLock lock(vote_mutex_);
  const std::vector<int> members = vote_->members().ranks;
  for (int rank : suspects) {
    if (rank < 0 || static_cast<std::size_t>(rank) >= members.size()) continue;
    vote_->lost(members[static_cast<std::size_t>(rank)], Certainty::kSuspected);
  }
  note_losses();  // So that the first letters name them.
  vote_->begin();
}

absl::StatusOr<std::shared_ptr<Job>> Recovery::start_next_epoch(
    TimePoint deadline) {
  absl::Status last_failure;
  while (true) {
    HVD_RETURN_IF_ERROR(agree(deadline));
    HVD_RETURN_IF_ERROR(pass_failpoint(Failpoint::kReformAgreed));
    Vote::Members members;
    {
      MutexLock lock(vote_mutex_);
      members = vote_->members();
    }
    auto job = start(members, deadline);
    if (job.ok()) return job;
    MutexLock lock(vote_mutex_);
    HVD_RETURN_IF_ERROR(poll(Look::kOnNetwork));
    if (!still_decided(members.epoch).ok()) continue;
    // No loss is known, but a death may show later, so try again. The same
    // failure twice in a row has another cause.
    const absl::Status& failure = job.status();
    if (absl::IsDeadlineExceeded(failure) ||
        (!absl::IsAborted(failure) && failure == last_failure)) {
      return failure;
    }
    last_failure = failure;
    vote_->begin();
  }
}

absl::Status Recovery::agree(TimePoint deadline) {
  // A rank that is silent for half of the time may be dead with its node. The
  // others leave it behind if they are the majority.
  const auto suspicion =
      steady_clock::now() + (deadline - steady_clock::now()) / 2;
  bool suspected = false;
  Pause pause;
  while (true) {
    const auto now = steady_clock::now();
    {
      MutexLock lock(vote_mutex_);
      HVD_RETURN_IF_ERROR(poll(Look::kOnNetwork));
      if (vote_->phase() == Vote::Phase::kStopped) return vote_->verdict();
      if (vote_->phase() == Vote::Phase::kAgreed) return absl::OkStatus();
      if (now >= suspicion && !suspected) {
        suspected = true;
        for (int rank : vote_->silent()) {
          vote_->lost(rank, Certainty::kSuspected);
        }
        continue;
      }
      if (now >= deadline) {
        return absl::DeadlineExceededError(absl::StrCat(
            "the ranks did not agree in time on the survivors; no answer from ",
            describe(vote_->awaited()),
            notice_error_.empty() ? ""
                                  : absl::StrCat(" (", notice_error_, ")")));
      }
    }
    pause.take();
  }
}

absl::StatusOr<std::shared_ptr<Job>> Recovery::start(
    const Vote::Members& members, TimePoint deadline) {
  HVD_ASSIGN_OR_RETURN(
      std::unique_ptr<transport::Communicator> wires,
      transport::make_subset_communicator(
          router_, {.members = members.ranks,
                    .epoch = members.epoch,
                    .interrupt = [this, epoch = members.epoch] {
                      return check_epoch(epoch);
                    }}));
  Config config = config_;
  // Survivors want to go on soon.
  config.measure_crossovers = false;
  config.huge_pages = false;
  config.start_timeout =
      std::max(deadline - steady_clock::now(), steady_clock::duration::zero());
  HVD_ASSIGN_OR_RETURN(std::shared_ptr<Job> job,
                       Job::start(config, std::move(wires), kept_));
  pass_failpoint(Failpoint::kReformStarted).IgnoreError();
  absl::Status decided;
  {
    MutexLock lock(vote_mutex_);
    decided = still_decided(members.epoch);
    if (decided.ok()) vote_->entered();
  }
  if (decided.ok()) return job;
  // Other ranks could not start this epoch. Its memory stays, as that of any
  // broken job.
  job->abort(absl::StrCat("could not begin: ", decided.message()));
  job->stop().IgnoreError();
  ended_.push_back(std::move(job));
  return decided;
}

absl::Status Recovery::give_up(const absl::Status& why) {
  MutexLock lock(vote_mutex_);
  vote_->stop(why);
  poll(Look::kOnNetwork).IgnoreError();
  const auto end = steady_clock::now() + kLastMailTimeout;
  while (steady_clock::now() < end) {
    const auto flushed = router_->wires().mail_is_flushed();
    if (!flushed.ok() || *flushed) break;
    std::this_thread::yield();
  }
  return annotate(why, "the job cannot go on without the ranks that are lost");
}

absl::Status Recovery::poll(Look look) {
  // While an epoch runs, its FailureMonitor handles deaths: a rank that has
  // left may die.
  if (vote_->phase() != Vote::Phase::kEntered) note_losses();
  while (true) {
    std::optional<transport::Mail> notice = router_->receive_kept({});
    if (!notice.has_value() && look == Look::kOnNetwork) {
      HVD_ASSIGN_OR_RETURN(notice, router_->receive({}));
    }
    if (!notice.has_value()) break;
    const absl::Status read = vote_->receive(notice->from, notice->bytes);
    if (!read.ok()) notice_error_ = std::string(read.message());
  }
  for (Vote::Letter& letter : vote_->take_outgoing()) {
    HVD_RETURN_IF_ERROR(router_->send(letter.to, {}, std::move(letter.bytes)));
  }
  return absl::OkStatus();
}

void Recovery::note_losses() {
  const std::size_t losses = router_->loss_count();
  if (losses <= losses_seen_) return;
  losses_seen_ = losses;
  for (const auto& [rank, how] : router_->losses()) {
    vote_->lost(rank, Certainty::kCertain);
  }
}

absl::Status Recovery::check_epoch(std::uint32_t epoch) {
  MutexLock lock(vote_mutex_);
  HVD_RETURN_IF_ERROR(poll(Look::kReceivedOnly));
  return still_decided(epoch);
}

absl::Status Recovery::still_decided(std::uint32_t epoch) const {
  const bool decided =
      vote_->phase() == Vote::Phase::kAgreed ||
      (vote_->phase() == Vote::Phase::kEntered && !vote_->outdated());
  if (decided && vote_->members().epoch == epoch) return absl::OkStatus();
  std::vector<int> lost;
  for (int rank : vote_->members().ranks) {
    if (vote_->lost_ranks().counts_out(rank)) lost.push_back(rank);
  }
  return absl::AbortedError(lost.empty()
                                ? "a rank has asked all others to begin anew"
                                : absl::StrCat(describe(lost), " was lost"));
}

// The first job's ranks that do not take part now, by the launcher's numbers.
std::vector<int> Recovery::lost_so_far() {
  MutexLock lock(vote_mutex_);
  std::vector<int> lost;
  const std::vector<int> members = vote_->members().ranks;
  for (int rank = 0; rank < router_->wires().size(); ++rank) {
    if (contains(members, rank)) continue;
    lost.push_back(numbers_.empty() ? rank
                                    : numbers_[static_cast<std::size_t>(rank)]);
  }
  std::sort(lost.begin(), lost.end());
  return lost;
}

// Names ranks by their numbers in the broken epoch, where they have one.
std::string Recovery::describe(const std::vector<int>& ranks) const {
  const std::vector<int> members = vote_->members().ranks;
  std::string text;
  for (int rank : ranks) {
    const int number = position_in(members, rank).value_or(rank);
    absl::StrAppend(
        &text, text.empty() ? "" : ", ",
        router_->wires().peers()[static_cast<std::size_t>(rank)].to_string(
            number));
  }
  return text;
}

}  // namespace hvd::runtime
