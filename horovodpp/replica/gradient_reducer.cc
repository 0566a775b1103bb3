#include "horovodpp/replica/gradient_reducer.h"

#include <cmath>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"

namespace hvd::replica {

GradientReducer::GradientReducer(Runtime& runtime, ReducerOptions options)
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
  throw_if_error(status());
  throw_if_error(
      annotate(runtime.rank_in(options_.process_set).status(),
               absl::StrCat("a reducer of gradients, '", options_.name, "'")));
}

// The futures do.
GradientReducer::~GradientReducer() = default;

absl::StatusOr<std::shared_ptr<Runtime>> GradientReducer::job() const {
  auto job = membership_.enter();
  if (job.ok()) return job;
  return annotate(job.status(), absl::StrCat("a reducer of gradients, '",
                                             options_.name, "'"));
}

absl::Status GradientReducer::status() const { return job().status(); }

void GradientReducer::add(const std::string& key, TensorView gradient,
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

bool GradientReducer::has(const std::string& key) const {
  MutexLock lock(mutex_);
  return keys_.contains(key);
}

bool GradientReducer::is_pending() const {
  MutexLock lock(mutex_);
  return !pending_.empty();
}

void GradientReducer::finish() {
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

}  // namespace hvd::replica
