#include "horovodpp/coordinator/tensor_queue.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace hvd::coordinator {

absl::Status TensorQueue::push(Submission&& submission) {
  MutexLock lock(mutex_);
  if (!closed_.ok()) return closed_;
  const Key& key = submission.request.key;
  const auto [place, is_new] = in_flight_.try_emplace(key);
  if (!is_new) {
    return absl::AlreadyExistsError(
        absl::StrCat("a tensor named ", key.to_string(),
                     " is in flight on this rank; wait for it or give this "
                     "one another name"));
  }
  unsent_.push_back(submission.request);
  has_news_.store(true, std::memory_order_release);
  place->second = std::move(submission);
  return absl::OkStatus();
}

std::vector<Request> TensorQueue::take_requests() {
  MutexLock lock(mutex_);
  has_news_.store(!waited_for_.empty(), std::memory_order_release);
  return std::exchange(unsent_, {});
}

void TensorQueue::wait_for(const Key& key) {
  MutexLock lock(mutex_);
  if (!in_flight_.contains(key)) return;
  waited_for_.push_back(key);
  has_news_.store(true, std::memory_order_release);
}

std::vector<Key> TensorQueue::take_waited_for() {
  MutexLock lock(mutex_);
  const std::vector<Key> asked = std::exchange(waited_for_, {});
  has_news_.store(!unsent_.empty(), std::memory_order_release);
  std::vector<Key> keys;
  for (const Key& key : asked) {
    if (in_flight_.contains(key)) keys.push_back(key);
  }
  return keys;
}

absl::StatusOr<std::vector<Submission>> TensorQueue::take(
    const std::vector<Key>& keys) {
  std::vector<Submission> taken;
  taken.reserve(keys.size());
  MutexLock lock(mutex_);
  for (const Key& key : keys) {
    const auto found = in_flight_.find(key);
    if (found == in_flight_.end()) {
      return closed_.ok()
                 ? absl::NotFoundError(absl::StrCat(
                       key.to_string(), " is not in flight on this rank"))
                 : closed_;
    }
    taken.push_back(std::move(found->second));
    in_flight_.erase(found);
  }
  return taken;
}

void TensorQueue::put_back(std::vector<Submission> submissions) {
  absl::Status closed;
  {
    MutexLock lock(mutex_);
    closed = closed_;
    for (Submission& submission : submissions) {
      if (!closed.ok()) break;
      Key key = submission.request.key;
      in_flight_.emplace(std::move(key), std::move(submission));
    }
  }
  if (closed.ok()) return;
  for (Submission& submission : submissions) submission.done(closed);
}

void TensorQueue::fail(const Key& key, const absl::Status& why) {
  auto failed = take({key});
  if (failed.ok()) failed->front().done(why);
}

void TensorQueue::close(const absl::Status& reason) {
  InFlight orphans;
  absl::Status first;
  {
    MutexLock lock(mutex_);
    if (closed_.ok()) closed_ = reason;
    first = closed_;
    unsent_.clear();
    waited_for_.clear();
    orphans.swap(in_flight_);
  }
  for (auto& [key, orphan] : orphans) orphan.done(first);
}

}  // namespace hvd::coordinator
