// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/replica/gradient_reducer.h"

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/core/future.h"
#include "horovodpp/core/mutex.h"
#include "horovodpp/core/status.h"
#include "horovodpp/runtime/membership.h"
#include "horovodpp/runtime/runtime.h"

namespace hvd::replica {

class GradientReducer::State {
 public:
  State(Runtime& runtime, ReducerOptions options);

  void add(const std::string& key, TensorView gradient,
           std::shared_ptr<const void> keep_alive);
  absl::StatusOr<std::shared_ptr<Runtime>> job() const;
  bool has(const std::string& key) const;
  bool is_pending() const;
  void finish();

 private:
  const Membership membership_;
  const ReducerOptions options_;
  mutable Mutex mutex_;
  absl::flat_hash_set<std::string> keys_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::pair<std::string, Future<void>>> pending_
      ABSL_GUARDED_BY(mutex_);
};

GradientReducer::State::State(Runtime& runtime, ReducerOptions options)
    : membership_(runtime.membership()), options_(std::move(options)) {
  const double factor = options_.gradient_predivide_factor;
  if (!(factor > 0) || !std::isfinite(factor) || !std::isfinite(1 / factor)) {
    throw Error(absl::InvalidArgumentError(
        absl::StrCat("gradient_predivide_factor is ", factor,
                     "; it must be a positive number, and so must 1 by it")));
  }
  if (!reduce_op_from_wire(static_cast<std::uint8_t>(options_.op))) {
    throw Error(absl::InvalidArgumentError(absl::StrCat(
        "a reducer of gradients, '", options_.name, "': there is no ",
        name_of(options_.op), "; use one that ReduceOp names")));
  }
  if (factor != 1.0 && options_.op != ReduceOp::kAverage) {
    throw Error(absl::InvalidArgumentError(absl::StrCat(
        "gradient_predivide_factor goes with op average, not with op ",
        name_of(options_.op), "; leave it at 1")));
  }
  throw_if_error(job().status());
  throw_if_error(
      annotate(runtime.rank_in(options_.process_set).status(),
               absl::StrCat("a reducer of gradients, '", options_.name, "'")));
}

absl::StatusOr<std::shared_ptr<Runtime>> GradientReducer::State::job() const {
  auto job = membership_.enter();
  if (job.ok()) return job;
  return annotate(job.status(), absl::StrCat("a reducer of gradients, '",
                                             options_.name, "'"));
}

void GradientReducer::State::add(const std::string& key, TensorView gradient,
                                 std::shared_ptr<const void> keep_alive) {
  const std::shared_ptr<Runtime> runtime = value_or_throw(job());
  const double factor = options_.gradient_predivide_factor;
  MutexLock lock(mutex_);
  if (!keys_.insert(key).second) {
    throw Error(absl::AlreadyExistsError(absl::StrCat(
        "the gradient of '", key,
        "' was handed over twice in one step; finish() the step first")));
  }
  pending_.emplace_back(key, Future<void>());
  pending_.back().second = runtime->allreduce_async_(
      std::move(gradient), {.name = absl::StrCat(options_.name, ".", key),
                            .op = options_.op,
                            .prescale_factor = 1.0 / factor,
                            .postscale_factor = factor,
                            .process_set = options_.process_set,
                            .keep_alive = std::move(keep_alive)});
}

bool GradientReducer::State::has(const std::string& key) const {
  MutexLock lock(mutex_);
  return keys_.contains(key);
}

bool GradientReducer::State::is_pending() const {
  MutexLock lock(mutex_);
  return !pending_.empty();
}

void GradientReducer::State::finish() {
  std::vector<std::pair<std::string, Future<void>>> pending;
  {
    MutexLock lock(mutex_);
    pending.swap(pending_);
  }
  // All are waited for, whatever becomes of the first: their memory is
  // borrowed.
  absl::Status first;
  for (const auto& [key, done] : pending) {
    const absl::Status status = done.wait();
    if (first.ok()) {
      first = annotate(status, absl::StrCat("gradient of '", key, "'"));
    }
  }
  {
    MutexLock lock(mutex_);
    for (const auto& [key, done] : pending) keys_.erase(key);
  }
  throw_if_error(first);
}

GradientReducer::GradientReducer(Runtime& runtime, ReducerOptions options)
    : state_(std::make_unique<State>(runtime, std::move(options))) {}

// The futures wait.
GradientReducer::~GradientReducer() = default;

void GradientReducer::add(const std::string& key, TensorView gradient,
                          std::shared_ptr<const void> keep_alive) {
  state_->add(key, std::move(gradient), std::move(keep_alive));
}

Status GradientReducer::status() const { return state_->job().status(); }
bool GradientReducer::has(const std::string& key) const {
  return state_->has(key);
}
bool GradientReducer::is_pending() const { return state_->is_pending(); }
void GradientReducer::finish() { state_->finish(); }

}  // namespace hvd::replica
