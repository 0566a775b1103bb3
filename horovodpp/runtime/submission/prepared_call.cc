// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/submission/prepared_call.h"

#include <utility>

#include "horovodpp/core/status.h"

namespace hvd::runtime {
namespace {

// A caller that polls this often in vain is waiting.
constexpr int kPollsOfAWaiter = 3;

}  // namespace

PreparedCall::PreparedCall(coordinator::SubmissionPtr submission,
                           ProcessSet set, SetTable& sets,
                           std::weak_ptr<SubmissionSink> sink)
    : submission_(std::move(submission)),
      set_(std::move(set)),
      sets_(sets),
      sink_(std::move(sink)),
      outcome_(std::make_shared<Outcome>()),
      admitted_(sets.changes()),
      ready_([this] { return !is_under_way(); }),
      enqueued_([this] { return is_enqueued(); }) {
  submission_->done = [outcome = outcome_](const auto& results) {
    outcome->set(results);
  };
  if (!submission_->request.device.is_cpu()) {
    submission_->enqueued = [outcome = outcome_](const auto& work,
                                                 const auto&) {
      outcome->set_enqueued(work);
    };
  }
  if (const auto sink_here = sink_.lock()) sink_here->expect_more(*submission_);
}

PreparedCall::~PreparedCall() {
  if (is_under_way()) wait().ignore_error();
  if (const auto sink = sink_.lock()) sink->expect_no_more(*submission_);
}

void PreparedCall::Outcome::set(
    const absl::StatusOr<coordinator::Results>& results) {
  if (stage.load() == kOver) return;
  status = results.ok() ? Status() : Status(results.status());
  stage.store(kOver);
  stage.notify_all();
}

void PreparedCall::Outcome::begin() {
  work = nullptr;
  stage.store(kUnderWay);
}

void PreparedCall::Outcome::set_enqueued(
    const std::shared_ptr<const Enqueued>& goes_on) {
  work = goes_on;
  stage.store(kEnqueued);
  stage.notify_all();
}

absl::Status PreparedCall::admit() {
  const std::uint64_t changes = sets_.changes();
  if (changes == admitted_) return absl::OkStatus();
  HVD_RETURN_IF_ERROR(sets_.admit(set_, submission_->request));
  admitted_ = changes;
  return absl::OkStatus();
}

void PreparedCall::start() {
  if (is_under_way()) wait().ignore_error();
  polls_ = 0;
  outcome_->begin();
  const std::shared_ptr<SubmissionSink> sink = sink_.lock();
  if (sink == nullptr) {
    return submission_->done(absl::FailedPreconditionError(
        "this rank has left the job that the collective was prepared in; "
        "prepare it again in the new job"));
  }
  if (const absl::Status admitted = admit(); !admitted.ok()) {
    return submission_->done(admitted);
  }
  sink->submit(submission_);
}

bool PreparedCall::start_at_once() {
  const std::shared_ptr<SubmissionSink> sink = sink_.lock();
  if (sink == nullptr || is_under_way() || sets_.changes() != admitted_) {
    return false;
  }
  const Quick quick = sink->try_at_once(submission_, [this] {
    polls_ = 0;
    outcome_->begin();
  });
  if (quick == Quick::kDone) outcome_->status = Status();
  return quick != Quick::kNot;
}

bool PreparedCall::poll() {
  if (!is_under_way()) return true;
  if (++polls_ != kPollsOfAWaiter) return false;
  if (const auto sink = sink_.lock()) sink->wait_for(submission_, nullptr);
  return !is_under_way();
}

Status PreparedCall::wait() {
  if (!is_under_way()) return outcome_->status;
  if (const auto sink = sink_.lock()) sink->wait_for(submission_, ready_);
  for (auto stage = outcome_->stage.load(); stage != Outcome::kOver;
       stage = outcome_->stage.load()) {
    outcome_->stage.wait(stage);
  }
  return outcome_->status;
}

Status PreparedCall::wait(void* stream) {
  if (!is_enqueued()) {
    if (const auto sink = sink_.lock()) {
      sink->wait_for(submission_, enqueued_);
    }
  }
  while (!is_enqueued()) outcome_->stage.wait(Outcome::kUnderWay);
  const bool is_over = !is_under_way();
  if (is_over && !outcome_->status.ok()) return outcome_->status;
  const auto& work = outcome_->work;
  if (work == nullptr || (is_over && !work->is_captured())) return Status();
  return work->order(stream);
}

}  // namespace hvd::runtime
