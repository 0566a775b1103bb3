// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/tensor_queue.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"

namespace hvd::coordinator {

absl::StatusOr<bool> TensorQueue::push(SubmissionPtr submission) {
  MutexLock lock(mutex_);
  if (!closed_.ok()) return closed_;
  const auto [place, is_new] = in_flight_.insert({.submission = submission});
  if (!is_new) {
    return absl::AlreadyExistsError(
        absl::StrCat("a tensor named ", submission->request.key.to_string(),
                     " is in flight on this rank; wait for it or give this "
                     "one another name"));
  }
  unsent_.push_back(std::move(submission));
  has_news_.store(true);
  return unsent_.size() >= wake_at_.load();
}

bool TensorQueue::set_wake_at(std::size_t unsent) {
  MutexLock lock(mutex_);
  wake_at_.store(unsent);
  return unsent_.size() >= unsent;
}

bool TensorQueue::is_pending(const Key& key) const {
  const auto found = in_flight_.find(key);
  return found != in_flight_.end() && !found->taken;
}

void TensorQueue::wait_for(const Key& key) {
  MutexLock lock(mutex_);
  if (!is_pending(key)) return;
  waited_for_.push_back(key);
  has_news_.store(true);
}

void TensorQueue::take_news(News& news) {
  news.unsent.clear();
  news.waited_for.clear();
  MutexLock lock(mutex_);
  has_news_.store(false);
  wake_at_.store(1);
  news.unsent.swap(unsent_);
  for (Key& key : waited_for_) {
    if (is_pending(key)) news.waited_for.push_back(std::move(key));
  }
  waited_for_.clear();
}

absl::StatusOr<SubmissionPtr> TensorQueue::take_one(const Key& key) {
  const auto found = in_flight_.find(key);
  if (found == in_flight_.end() || found->taken) {
    return closed_.ok()
               ? absl::NotFoundError(absl::StrCat(
                     key.to_string(), " is not in flight on this rank"))
               : closed_;
  }
  found->taken = true;
  return found->submission;
}

absl::Status TensorQueue::take(const Batch& batch,
                               std::vector<SubmissionPtr>& taken) {
  taken.clear();
  taken.reserve(batch.entries.size());
  MutexLock lock(mutex_);
  for (const Batch::Entry& entry : batch.entries) {
    if (!entry.submitted_here) continue;
    HVD_ASSIGN_OR_RETURN(SubmissionPtr submission, take_one(entry.agreed->key));
    taken.push_back(std::move(submission));
  }
  return absl::OkStatus();
}

bool TensorQueue::holds(const Submission& submission) {
  MutexLock lock(mutex_);
  const auto found = in_flight_.find(submission.request.key);
  return found != in_flight_.end() && !found->taken &&
         found->submission.get() == &submission;
}

void TensorQueue::release(const std::vector<SubmissionPtr>& submissions) {
  MutexLock lock(mutex_);
  for (const SubmissionPtr& submission : submissions) {
    const Key& key = submission->request.key;
    in_flight_.erase(key);
    // A thread that waits for it does not wait for what will have its name
    // next.
    if (!waited_for_.empty()) std::erase(waited_for_, key);
  }
}

void TensorQueue::put_back(std::vector<SubmissionPtr> submissions) {
  absl::Status closed;
  {
    MutexLock lock(mutex_);
    closed = closed_;
    for (const SubmissionPtr& submission : submissions) {
      in_flight_.find(submission->request.key)->taken = false;
    }
  }
  if (closed.ok()) return;
  release(submissions);
  for (const SubmissionPtr& submission : submissions) submission->done(closed);
}

void TensorQueue::fail(const Key& key, const absl::Status& why) {
  SubmissionPtr failed;
  {
    MutexLock lock(mutex_);
    absl::StatusOr<SubmissionPtr> taken = take_one(key);
    if (!taken.ok()) return;
    failed = *std::move(taken);
  }
  release({failed});
  failed->done(why);
}

void TensorQueue::close(const absl::Status& reason) {
  std::vector<SubmissionPtr> orphans;
  absl::Status first;
  {
    MutexLock lock(mutex_);
    if (closed_.ok()) closed_ = reason;
    first = closed_;
    unsent_.clear();
    waited_for_.clear();
    for (const Entry& entry : in_flight_) {
      if (!entry.taken) orphans.push_back(entry.submission);
    }
  }
  release(orphans);
  for (const SubmissionPtr& orphan : orphans) orphan->done(first);
}

}  // namespace hvd::coordinator
