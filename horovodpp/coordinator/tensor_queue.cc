#include "horovodpp/coordinator/tensor_queue.h"

#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

namespace hvd::coordinator {

absl::Status TensorQueue::push(std::vector<Submission> group) {
  MutexLock lock(mutex_);
  if (!closed_.ok()) return closed_;

  // Every name is checked before any is queued: peers would wait for ever on a
  // group of which they saw half.
  absl::flat_hash_set<std::string> names;
  for (const Submission& s : group) {
    const std::string& name = s.request.name;
    if (in_flight_.contains(name) || !names.insert(name).second) {
      return absl::AlreadyExistsError(
          absl::StrCat("a tensor named '", name,
                       "' is in flight on this rank; wait for it or give this "
                       "one another name"));
    }
  }
  for (Submission& s : group) {
    unsent_.push_back(s.request);
    std::string name = s.request.name;
    in_flight_.emplace(std::move(name), std::move(s));
  }
  return absl::OkStatus();
}

std::vector<Request> TensorQueue::take_requests() {
  MutexLock lock(mutex_);
  return std::exchange(unsent_, {});
}

absl::StatusOr<std::vector<Submission>> TensorQueue::take(
    const std::vector<std::string>& names) {
  std::vector<Submission> taken;
  taken.reserve(names.size());
  MutexLock lock(mutex_);
  for (const std::string& name : names) {
    const auto found = in_flight_.find(name);
    if (found == in_flight_.end()) {
      return closed_.ok() ? absl::NotFoundError(absl::StrCat(
                                "'", name, "' is not in flight on this rank"))
                          : closed_;
    }
    taken.push_back(std::move(found->second));
    in_flight_.erase(found);
  }
  return taken;
}

void TensorQueue::fail(const std::string& name, const absl::Status& why) {
  auto failed = take({name});
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
    orphans.swap(in_flight_);
  }
  for (auto& [name, orphan] : orphans) orphan.done(first);
}

}  // namespace hvd::coordinator
