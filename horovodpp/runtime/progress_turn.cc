// What a Progress does in a turn.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/coordinator/lost_ranks.h"
#include "horovodpp/coordinator/stall_inspector.h"
#include "horovodpp/core/rank_news.h"
#include "horovodpp/core/status.h"
#include "horovodpp/runtime/progress.h"
#include "horovodpp/transport/epoch_router.h"

namespace hvd::runtime {
namespace {

using std::chrono::steady_clock;

}  // namespace

absl::StatusOr<bool> Progress::turn() {
  HVD_ASSIGN_OR_RETURN(const bool agreed, agree());
  HVD_ASSIGN_OR_RETURN(const bool done, execute());
  return agreed || done;
}

absl::StatusOr<bool> Progress::agree() {
  // Before the verdict on a death: the mail may say that it was none.
  HVD_ASSIGN_OR_RETURN(const bool in, take_in());
  if (!parts_.coordinator.closed()) {
    HVD_RETURN_IF_ERROR(parts_.monitor.judge());
  }
  HVD_RETURN_IF_ERROR(beat());
  HVD_ASSIGN_OR_RETURN(const bool out, give_out());
  return in || out;
}

absl::Status Progress::attend() {
  HVD_RETURN_IF_ERROR(take_in().status());
  HVD_RETURN_IF_ERROR(beat());
  HVD_RETURN_IF_ERROR(give_out().status());
  if (!parts_.coordinator.should_abandon()) return absl::OkStatus();
  return absl::CancelledError("the cycle ended before all ranks came here");
}

absl::StatusOr<bool> Progress::take_in() {
  // Asked first: what was submitted before leave() is then among the requests.
  const bool leave = leave_requested_.load() && !leaving_;
  bool moved = false;
  while (true) {
    HVD_ASSIGN_OR_RETURN(std::optional<transport::Mail> mail,
                         parts_.router.receive());
    if (!mail) break;
    moved = true;
    if (beats_) beats_->heard(mail->from, steady_clock::now());
    if (const auto notice = transport::EpochRouter::notice_in(mail->bytes)) {
      HVD_RETURN_IF_ERROR(hear_of_losses(mail->from, *notice));
      continue;
    }
    HVD_RETURN_IF_ERROR(parts_.coordinator.receive(mail->from, mail->bytes));
  }
  if (parts_.queue.has_news()) {
    moved = true;
    parts_.queue.take_news(news_);
    for (const coordinator::SubmissionPtr& submission : news_.unsent) {
      parts_.coordinator.submit(submission->request);
    }
    news_.unsent.clear();
    for (const coordinator::Key& key : news_.waited_for) {
      parts_.coordinator.wait_for(key);
    }
  }
  if (leave) {
    moved = leaving_ = true;
    parts_.monitor.leaving();
    parts_.coordinator.leave();
  }
  return moved;
}

absl::StatusOr<bool> Progress::give_out() {
  HVD_RETURN_IF_ERROR(parts_.coordinator.step());
  bool moved = false;
  for (coordinator::Outgoing& mail : parts_.coordinator.take_outgoing()) {
    moved = true;
    HVD_RETURN_IF_ERROR(parts_.router.send(mail.to, std::move(mail.bytes)));
  }
  HVD_RETURN_IF_ERROR(parts_.router.flush().status());
  const coordinator::Bells bells = parts_.coordinator.take_bells();
  ring(bells);
  for (const std::string& warning : parts_.coordinator.take_warnings()) {
    parts_.log.warning(warning);
  }
  return moved || bells.leader || bells.node;
}

// Rank `from` knows of losses already, and has begun to re-form the job.
absl::Status Progress::hear_of_losses(int from, const std::string& notice) {
  const absl::StatusOr<coordinator::LostRanksMessage> letter =
      coordinator::decode_lost_ranks(notice, parts_.topology.size());
  if (!letter.ok()) {
    return annotate(letter.status(), absl::StrCat("mail from rank ", from));
  }
  const coordinator::LostRanks& lost_ranks = letter->lost_ranks;
  if (!lost_ranks.dead.empty()) {
    parts_.monitor.left_behind(lost_ranks.dead.front(), kEndedEarly);
  } else if (!lost_ranks.suspected.empty()) {
    parts_.monitor.left_behind(lost_ranks.suspected.front(),
                               coordinator::kDoesNotAnswer);
  } else {
    parts_.monitor.left_behind(from, "has begun to re-form the job");
  }
  return absl::OkStatus();
}

// Leaders of neighbouring nodes see nothing of each other but mail.
absl::Status Progress::beat() {
  if (!beats_) return absl::OkStatus();
  const auto now = steady_clock::now();
  for (const int rank : beats_->due(now)) {
    coordinator::Outgoing mail = parts_.coordinator.beat_mail(rank);
    HVD_RETURN_IF_ERROR(parts_.router.send(mail.to, std::move(mail.bytes)));
  }
  for (const int rank : beats_->lost(now)) {
    parts_.monitor.node_lost(rank);
  }
  return absl::OkStatus();
}

void Progress::ring(coordinator::Bells bells) {
  if (bells.node) {
    parts_.segment.ring_others();
  } else if (bells.leader) {
    parts_.segment.doorbell(0).ring();
  }
}

absl::StatusOr<bool> Progress::execute() {
  bool moved = false;
  while (true) {
    HVD_ASSIGN_OR_RETURN(const bool failed, read_schedule());
    moved = moved || failed;
    if (!next_) return moved || parts_.coordinator.wants_step();
    moved = true;
    // Who has what it waited for is not held up by others' batches: what it does
    // next may be what another rank needs before it comes there.
    if (awaited_ != nullptr && (*awaited_)()) return moved;
    const coordinator::Batch batch = *std::exchange(next_, std::nullopt);
    HVD_RETURN_IF_ERROR(carry_out(batch));
  }
}

absl::StatusOr<bool> Progress::read_schedule() {
  if (next_) return false;
  HVD_ASSIGN_OR_RETURN(next_, parts_.coordinator.next_batch());
  const std::vector<coordinator::Failure> failures =
      parts_.coordinator.take_failures();
  note_hindrance(failures);
  for (const coordinator::Failure& failure : failures) {
    parts_.queue.fail(failure.key, failure.why);
  }
  return !failures.empty();
}

// Before anybody sees the error, and ends because of it.
void Progress::note_hindrance(
    const std::vector<coordinator::Failure>& failures) {
  const std::optional<int> culprit = parts_.coordinator.ended_by();
  if (hindered_ || !culprit || *culprit == parts_.topology.rank()) return;
  for (const coordinator::Failure& failure : failures) {
    if (!absl::IsCancelled(failure.why)) continue;
    hindered_ = true;
    parts_.monitor.hindered(std::string(failure.why.message()));
    parts_.launcher.hindered(failure.why);
    return;
  }
}

absl::Status Progress::carry_out(const coordinator::Batch& batch) {
  std::vector<const coordinator::Key*> keys;
  for (const coordinator::Batch::Entry& entry : batch.entries) {
    if (entry.submitted_here) keys.push_back(&entry.agreed->key);
  }
  HVD_ASSIGN_OR_RETURN(std::vector<coordinator::SubmissionPtr> submissions,
                       parts_.queue.take(keys));
  const auto release = [&] { parts_.queue.release(submissions); };
  absl::Status status;
  try {
    status = parts_.executor.run(batch, submissions, release);
  } catch (...) {
    status = what_was_thrown();
  }
  parts_.router.data_was_sent();
  if (status.ok()) {
    parts_.coordinator.finished();
    return status;
  }
  if (absl::IsCancelled(status) && parts_.coordinator.should_abandon()) {
    parts_.queue.put_back(std::move(submissions));
    parts_.coordinator.abandoned();
    return absl::OkStatus();
  }
  const absl::Status reason = settle(status);
  release();
  for (const auto& submission : submissions) submission->done(reason);
  return reason;
}

}  // namespace hvd::runtime
