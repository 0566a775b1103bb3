// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/replica/gradient_reducer.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/core/future.h"
#include "horovodpp/core/mutex.h"
#include "horovodpp/core/status.h"
#include "horovodpp/runtime/membership.h"
#include "horovodpp/runtime/runtime.h"

namespace hvd::replica {
namespace {

// What there is to know of one gradient in one step.
struct Record {
  int expected = 1;  // Contributions.
  int came = 0;      // Of them.
  bool is_added = false;
  Future<void> reduced = {};
  std::shared_ptr<const void> owner = nullptr;

  int owed() const { return is_added ? 0 : expected - came; }
};

}  // namespace

class GradientReducer::State {
 public:
  State(Runtime& runtime, ReducerOptions options);

  void expect(const std::string& key, int contributions);
  bool contribute(const std::string& key);
  int owed(const std::string& key) const;
  void add(const std::string& key, TensorView gradient,
           std::shared_ptr<const void> keep_alive);
  absl::StatusOr<std::shared_ptr<Runtime>> job() const;
  bool has(const std::string& key) const;
  bool is_pending() const;
  std::vector<std::shared_ptr<const void>> finish();

 private:
  // Found again at the same place.
  using Records = std::unordered_map<std::string, Record>;
  struct Pending {
    Records::value_type* entry;
    Future<void> reduced;
  };

  std::vector<Pending> take_pending();

  const Membership membership_;
  const ReducerOptions options_;
  mutable Mutex mutex_;
  Records records_ ABSL_GUARDED_BY(mutex_);
  // What was added, in that order.
  std::vector<Records::value_type*> added_ ABSL_GUARDED_BY(mutex_);
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

void GradientReducer::State::expect(const std::string& key, int contributions) {
  if (contributions < 1) {
    throw Error(absl::InvalidArgumentError(
        absl::StrCat("the gradient of '", key, "' is to have ", contributions,
                     " contributions; it must have at least 1")));
  }
  MutexLock lock(mutex_);
  records_[key].expected = contributions;
}

bool GradientReducer::State::contribute(const std::string& key) {
  MutexLock lock(mutex_);
  Record& record = records_[key];
  if (record.owed() <= 0) {
    throw Error(absl::FailedPreconditionError(absl::StrCat(
        "the gradient of '", key, "' has had ", record.came,
        " contributions in this step", record.is_added ? ", was added" : "",
        " and gets one more, where ", record.expected,
        " were expected; finish() the step first, or expect() more")));
  }
  ++record.came;
  return record.owed() == 0;
}

int GradientReducer::State::owed(const std::string& key) const {
  MutexLock lock(mutex_);
  const auto found = records_.find(key);
  return found == records_.end() ? 1 : found->second.owed();
}

void GradientReducer::State::add(const std::string& key, TensorView gradient,
                                 std::shared_ptr<const void> keep_alive) {
  const std::shared_ptr<Runtime> runtime = value_or_throw(job());
  const double factor = options_.gradient_predivide_factor;
  MutexLock lock(mutex_);
  Records::value_type& entry = *records_.try_emplace(key).first;
  Record& record = entry.second;
  if (record.is_added) {
    throw Error(absl::AlreadyExistsError(absl::StrCat(
        "the gradient of '", key,
        "' was handed over twice in one step; finish() the step first")));
  }
  record.reduced = runtime->allreduce_async_(
      std::move(gradient), {.name = absl::StrCat(options_.name, ".", key),
                            .op = options_.op,
                            .prescale_factor = 1.0 / factor,
                            .postscale_factor = factor,
                            .process_set = options_.process_set,
                            .keep_alive = keep_alive});
  record.owner = std::move(keep_alive);
  record.is_added = true;
  added_.push_back(&entry);
}

bool GradientReducer::State::has(const std::string& key) const {
  MutexLock lock(mutex_);
  const auto found = records_.find(key);
  return found != records_.end() && found->second.is_added;
}

bool GradientReducer::State::is_pending() const {
  MutexLock lock(mutex_);
  return !added_.empty();
}

// What was added so far. Contributions that come from now on are the next step's.
std::vector<GradientReducer::State::Pending>
GradientReducer::State::take_pending() {
  MutexLock lock(mutex_);
  std::vector<Pending> pending;
  for (Records::value_type* entry : added_) {
    pending.push_back({entry, entry->second.reduced});
  }
  added_.clear();
  for (auto& [key, record] : records_) {
    if (!record.is_added) record.came = 0;
  }
  return pending;
}

std::vector<std::shared_ptr<const void>> GradientReducer::State::finish() {
  const std::vector<Pending> pending = take_pending();
  // All are waited for, whatever becomes of the first: their memory is
  // borrowed.
  absl::Status first;
  for (const auto& [entry, reduced] : pending) {
    const absl::Status status = reduced.wait();
    if (first.ok()) {
      first =
          annotate(status, absl::StrCat("gradient of '", entry->first, "'"));
    }
  }
  std::vector<std::shared_ptr<const void>> owners;
  {
    MutexLock lock(mutex_);
    for (const auto& [entry, reduced] : pending) {
      Record& record = entry->second;
      owners.push_back(std::move(record.owner));
      record = {.expected = record.expected};
    }
  }
  throw_if_error(first);
  return owners;
}

GradientReducer::GradientReducer(Runtime& runtime, ReducerOptions options)
    : state_(std::make_unique<State>(runtime, std::move(options))) {}

// The futures wait.
GradientReducer::~GradientReducer() = default;

void GradientReducer::expect(const std::string& key, int contributions) {
  state_->expect(key, contributions);
}
bool GradientReducer::contribute(const std::string& key) {
  return state_->contribute(key);
}
int GradientReducer::owed(const std::string& key) const {
  return state_->owed(key);
}

void GradientReducer::add(const std::string& key, TensorView gradient,
                          std::shared_ptr<const void> keep_alive) {
  state_->add(key, std::move(gradient), std::move(keep_alive));
}

Status GradientReducer::status() const { return state_->job().status(); }
bool GradientReducer::has(const std::string& key) const {
  return state_->has(key);
}
bool GradientReducer::is_pending() const { return state_->is_pending(); }
std::vector<std::shared_ptr<const void>> GradientReducer::finish() {
  return state_->finish();
}

}  // namespace hvd::replica
