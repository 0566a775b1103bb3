// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/progress/turn.h"

#include <atomic>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/system/failpoints.h"
#include "horovodpp/core/thread/interruption.h"

namespace hvd::runtime {
namespace {

using std::chrono::steady_clock;

// The number of submissions that are taken in before their output is given out.
// That output then stays in the cache, and other ranks begin with it meanwhile.
constexpr std::size_t kPortion = 256;

}  // namespace

Turn::Turn(const LoopParts& parts, JobEnd& end,
           std::chrono::nanoseconds heartbeat_deadline)
    : parts_(parts),
      trace_(parts.recorder),
      end_(end),
      several_nodes_(parts.topology.node_count() > 1) {
  if (several_nodes_ && parts.segment.local_rank() == 0) {
    beats_.emplace(Heartbeats::Options::for_outage(
                       heartbeat_deadline, parts.coordinator.neighbours()),
                   steady_clock::now());
  }
}

absl::StatusOr<bool> Turn::move_on(const Ready* awaited) {
  HVD_ASSIGN_OR_RETURN(const bool agreed, agree());
  HVD_ASSIGN_OR_RETURN(const bool done, execute(awaited));
  return agreed || done;
}

// Without other work in flight, before or after, there are no ranks to notify
// and nothing to hand over. Late peers are the exception.
Quick Turn::try_at_once(const coordinator::SubmissionPtr& submission,
                        const std::function<void()>& begun) {
  if (next_ != nullptr || parts_.queue.has_changes()) return Quick::kNot;
  // execute() passes them.
  if (failpoints::are_set.load(std::memory_order_relaxed)) return Quick::kNot;
  coordinator::Submission& mine = *submission;
  const coordinator::Batch* const batch = parts_.coordinator.lone_head(mine);
  if (batch == nullptr) return Quick::kNot;
  QuickPlan* const plan = parts_.executor.quick_plan_of(*batch);
  if (plan == nullptr || !parts_.queue.take_at_once(mine)) return Quick::kNot;
  const std::uint64_t began = trace_.now();
  parts_.coordinator.enter_lone_head(mine);
  if (plan->run(*batch, mine)) {
    const std::uint64_t ended =
        trace_.done_at_once(*batch, mine, plan->traced_plane(), began);
    parts_.coordinator.executed(*batch, began, ended);
    log_batch(*batch, "executed at once");
    parts_.queue.release(mine);
    parts_.coordinator.finished();
    return Quick::kDone;
  }
  parts_.coordinator.begin_to_wait();
  begun();
  parts_.queue.leave_in_flight(submission);
  next_ = batch;
  return Quick::kBegun;
}

absl::StatusOr<bool> Turn::move_on_without_batches() {
  HVD_ASSIGN_OR_RETURN(const bool agreed, agree());
  HVD_ASSIGN_OR_RETURN(const bool failed, read_schedule());
  return agreed || failed || parts_.coordinator.wants_step();
}

absl::StatusOr<bool> Turn::agree() {
  // Take in mail before the verdict on a death: mail may explain it.
  HVD_ASSIGN_OR_RETURN(const bool in, take_in());
  if (!parts_.coordinator.closed()) {
    HVD_RETURN_IF_ERROR(parts_.monitor.judge());
  }
  if (beats_) HVD_RETURN_IF_ERROR(beat());
  HVD_ASSIGN_OR_RETURN(const bool out, send_output());
  return in || out;
}

absl::Status Turn::poll() {
  // Only this thread can go on with the operation that it executes.
  if (Interruption* const mine = Interruption::here();
      mine != nullptr && mine->is_due_to_stop()) {
    if (mine->is_pressing()) {
      parts_.monitor.give_up(absl::StrCat(
          parts_.topology.describe(parts_.topology.rank()),
          mine->has_timed_out() ? " timed out" : " was interrupted",
          " in a collective"));
      return parts_.monitor.verdict();
    }
    parts_.coordinator.leave_cycle();
  }
  do {
    HVD_RETURN_IF_ERROR(take_in().status());
    if (beats_) HVD_RETURN_IF_ERROR(beat());
    HVD_RETURN_IF_ERROR(send_output().status());
  } while (parts_.queue.wake_at(polls_at()));
  if (!parts_.coordinator.should_abandon()) return absl::OkStatus();
  return absl::CancelledError("the cycle ended before all ranks came here");
}

absl::StatusOr<bool> Turn::take_in() {
  // Read the flag first: submissions made before leave() are then among the
  // requests.
  const bool leave = leave_requested_.load() && !leaving_;
  HVD_ASSIGN_OR_RETURN(bool moved, receive());
  if (parts_.reports != nullptr) HVD_RETURN_IF_ERROR(pass_reports());
  if (parts_.questions != nullptr) pass_questions();
  if (parts_.queue.has_changes()) {
    parts_.queue.take_changes(changes_);
    if (traces()) log_changes();
    moved = moved || !changes_.unsent.empty() || !changes_.waited_for.empty();
    HVD_RETURN_IF_ERROR(begin_messages());
    std::span<coordinator::Submission* const> unsent = changes_.unsent;
    for (; unsent.size() > kPortion; unsent = unsent.subspan(kPortion)) {
      taken_at_ = parts_.coordinator.submit(unsent.first(kPortion));
      HVD_RETURN_IF_ERROR(send_output().status());
    }
    taken_at_ = parts_.coordinator.submit(unsent);
    for (const coordinator::Key& key : changes_.waited_for) {
      parts_.coordinator.wait_for(key);
    }
  }
  if (leave) {
    moved = leaving_ = true;
    parts_.log.debug("leaves the job, once the other ranks do");
    parts_.monitor.leaving();
    parts_.coordinator.leave();
  }
  return moved;
}

void Turn::pass_questions() {
  if (parts_.questions->has_unsent()) {
    for (const auto& question : parts_.questions->take_unsent()) {
      parts_.coordinator.ask(question.key, question.number);
    }
  }
  if (!parts_.coordinator.has_answers()) return;
  for (coordinator::Coordinator::Answer& answer :
       parts_.coordinator.take_answers()) {
    parts_.questions->answer(answer.question, std::move(answer.text));
  }
}

// Takes the messages out of the changes: the other ranks do not agree on them.
absl::Status Turn::begin_messages() {
  if (parts_.messages == nullptr) return absl::OkStatus();
  absl::Status status;
  std::erase_if(changes_.unsent,
                [&](const coordinator::Submission* submission) {
                  if (!describe(submission->request.kind).is_message)
                    return false;
                  if (status.ok()) status = parts_.messages->begin(*submission);
                  return true;
                });
  return status;
}

absl::Status Turn::check_messages() {
  const auto due = parts_.messages->due();
  if (!due || steady_clock::now() < *due) return absl::OkStatus();
  std::vector<std::string> warnings;
  HVD_RETURN_IF_ERROR(parts_.messages->report_stalls(warnings));
  for (const std::string& warning : warnings) parts_.log.warning(warning);
  return absl::OkStatus();
}

absl::Status Turn::pass_reports() {
  if (parts_.reports->has_unsent()) {
    for (std::string& report : parts_.reports->take_unsent()) {
      HVD_RETURN_IF_ERROR(parts_.coordinator.report(std::move(report)));
    }
  }
  for (const coordinator::Report& report : parts_.coordinator.take_reports()) {
    parts_.reports->received(report.rank, report.bytes);
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> Turn::send_output() {
  // Reads the clock only once.
  const auto taken_at = std::exchange(taken_at_, std::nullopt);
  HVD_RETURN_IF_ERROR(taken_at ? parts_.coordinator.step(*taken_at)
                               : parts_.coordinator.step());
  // The root may have answered itself.
  if (parts_.questions != nullptr) pass_questions();
  bool moved = false;
  if (parts_.coordinator.has_output()) {
    for (coordinator::Outgoing& mail : parts_.coordinator.take_outgoing()) {
      moved = true;
      if (traces()) {
        parts_.log.trace(absl::StrCat("sends ", mail.bytes.size(),
                                      " bytes to rank ", mail.to));
      }
      HVD_RETURN_IF_ERROR(parts_.router.post(mail.to, std::move(mail.bytes)));
    }
    parts_.router.ring();
    const coordinator::Bells bells = parts_.coordinator.take_bells();
    ring(bells);
    moved = moved || bells.leader || bells.node;
    for (const std::string& warning : parts_.coordinator.take_warnings()) {
      parts_.log.warning(warning);
    }
  }
  if (parts_.messages != nullptr) {
    if (parts_.messages->may_have_unsent()) parts_.messages->flush();
    if (parts_.messages->is_busy()) HVD_RETURN_IF_ERROR(check_messages());
  }
  if (parts_.router.may_have_unsent()) {
    HVD_RETURN_IF_ERROR(parts_.router.flush().status());
  }
  return moved;
}

void Turn::ring(coordinator::Bells bells) {
  if (bells.node) {
    parts_.segment.ring_others();
  } else if (bells.leader) {
    parts_.segment.doorbell(0).ring();
  }
}

absl::StatusOr<bool> Turn::execute(const Ready* awaited) {
  bool moved = false;
  while (true) {
    HVD_ASSIGN_OR_RETURN(const bool failed, read_schedule());
    moved = moved || failed;
    if (next_ == nullptr) return moved || parts_.coordinator.wants_step();
    moved = true;
    // Return as soon as the awaited outcome is known. Another rank may need
    // this thread's next call before it executes the next batch.
    if (awaited != nullptr && (*awaited)()) return moved;
    HVD_RETURN_IF_ERROR(carry_out(*std::exchange(next_, nullptr)));
    if (awaited != nullptr && (*awaited)()) return moved;
  }
}

absl::StatusOr<bool> Turn::read_schedule() {
  if (next_ != nullptr) return false;
  HVD_ASSIGN_OR_RETURN(next_, parts_.coordinator.next_batch());
  if (const auto ended = parts_.coordinator.ended_by();
      ended && parts_.messages != nullptr) {
    HVD_RETURN_IF_ERROR(parts_.messages->end(*ended));
  }
  if (!parts_.coordinator.has_failures()) return false;
  const std::vector<coordinator::Failure> failures =
      parts_.coordinator.take_failures();
  note_early_leave(failures);
  for (const coordinator::Failure& failure : failures) {
    if (traces()) {
      parts_.log.trace(absl::StrCat(failure.key.to_string(),
                                    " failed: ", failure.why.message()));
    }
    parts_.queue.fail(failure.mine, failure.why);
  }
  return true;
}

// Runs before a caller sees the error, because the caller may end the process.
void Turn::note_early_leave(const std::vector<coordinator::Failure>& failures) {
  const std::optional<int> culprit = parts_.coordinator.ended_by();
  if (has_reported_early_leave_ || !culprit ||
      *culprit == parts_.topology.rank())
    return;
  for (const coordinator::Failure& failure : failures) {
    if (!absl::IsCancelled(failure.why)) continue;
    has_reported_early_leave_ = true;
    parts_.monitor.peer_left_early(std::string(failure.why.message()));
    parts_.launcher.peer_left_early(failure.why);
    return;
  }
}

absl::Status Turn::carry_out(const coordinator::Batch& batch) {
  HVD_RETURN_IF_ERROR(parts_.queue.take(batch, submissions_));
  log_batch(batch, "begins");
  const std::uint64_t began = trace_.begins(batch);
  absl::Status status;
  try {
    status = parts_.executor.execute(batch, submissions_);
    if (status.ok()) {
      // Callers who see the outcome also find it in the trace.
      const std::uint64_t ended = trace_.ends(
          batch, parts_.executor.goes_on() ? trace::BatchEnd::kGoesOnOnGpu
                                           : trace::BatchEnd::kDone);
      parts_.coordinator.executed(batch, began, ended);
      // Free the names before callers learn the outcome.
      parts_.queue.release(submissions_);
      parts_.executor.complete(batch, submissions_);
      if (parts_.messages != nullptr && removes_set(batch.request().kind)) {
        parts_.messages->removed(batch.request().subject);
      }
    }
  } catch (...) {
    status = end_.current_exception_status();
  }
  parts_.router.data_was_sent();
  // Replace the threshold of polls_at(). The next look handles submissions
  // that are already there.
  parts_.queue.wake_at(1);
  if (status.ok()) {
    if (traces())
      parts_.log.trace(absl::StrCat("batch ", batches_, " is done"));
    parts_.coordinator.finished();
    submissions_.clear();
    return status;
  }
  if (absl::IsCancelled(status) && parts_.coordinator.should_abandon()) {
    trace_.ends(batch, trace::BatchEnd::kAbandoned);
    parts_.queue.put_back(std::exchange(submissions_, {}));
    parts_.coordinator.abandoned();
    return absl::OkStatus();
  }
  trace_.ends(batch, trace::BatchEnd::kFailed);
  const absl::Status reason = end_.settle(status);
  parts_.queue.release(submissions_);
  parts_.executor.fail(submissions_, reason);
  submissions_.clear();
  return reason;
}

// Most training steps write nothing here, and only compare a few numbers.
void Turn::log_batch(const coordinator::Batch& batch, const char* how) {
  ++batches_;
  if (parts_.activity != nullptr) parts_.activity->begins(batch);
  if (batch.cycle != cycle_) {
    cycle_ = batch.cycle;
    parts_.log.debug(
        cycle_ == 0
            ? "the cycle is over: ranks agree on every batch again"
            : absl::StrCat("cycle ", cycle_,
                           " is in force: steps were equal, so that batches "
                           "follow in their order and ranks need not agree"));
  }
  if (!traces()) return;
  parts_.log.trace(absl::StrCat("batch ", batches_, ", ",
                                parts_.executor.describe(batch), ", ", how));
}

void Turn::log_changes() const {
  for (const coordinator::Submission* submission : changes_.unsent) {
    const coordinator::Request& request = submission->request;
    parts_.log.trace(absl::StrCat("submitted ", name_of(request.kind), " of ",
                                  request.key.to_string()));
  }
}

void Turn::log_end() const {
  parts_.log.debug(absl::StrCat("left the job after ", batches_, " batches"));
}

bool Turn::has_ended() const {
  // A leaving rank stays until its messages have found room, because peers wait
  // for them.
  return parts_.coordinator.closed() && !parts_.router.has_unwritten();
}

}  // namespace hvd::runtime
