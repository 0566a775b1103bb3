#include "horovodpp/replica/gradient_reducer.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"

namespace hvd::replica {

GradientReducer::GradientReducer(Runtime& runtime, ReducerOptions options)
    : runtime_(runtime), options_(std::move(options)) {
  const double factor = options_.gradient_predivide_factor;
  if (!(factor > 0) || !std::isfinite(factor)) {
    throw Error(absl::InvalidArgumentError(
        absl::StrCat("gradient_predivide_factor is ", factor,
                     "; it must be a positive number")));
  }
  if (factor != 1.0 && options_.op != ReduceOp::kAverage) {
    throw Error(absl::InvalidArgumentError(absl::StrCat(
        "gradient_predivide_factor goes with op average, not with op ",
        name_of(options_.op), "; leave it at 1")));
  }
  throw_if_error(
      annotate(runtime_.rank_in(options_.process_set).status(),
               absl::StrCat("a reducer of gradients, '", options_.name, "'")));
}

void GradientReducer::add(const std::string& key, TensorView gradient) {
  MutexLock lock(mutex_);
  if (!keys_.insert(key).second) {
    throw Error(absl::AlreadyExistsError(absl::StrCat(
        "the gradient of '", key,
        "' was handed over twice in one step; finish() the step first")));
  }
  const double factor = options_.gradient_predivide_factor;
  pending_.emplace_back(key, runtime_.allreduce_async_(
                                 std::move(gradient),
                                 {.name = absl::StrCat(options_.name, ".", key),
                                  .op = options_.op,
                                  .prescale_factor = 1.0 / factor,
                                  .postscale_factor = factor,
                                  .process_set = options_.process_set}));
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
