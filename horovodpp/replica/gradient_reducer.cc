// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/replica/gradient_reducer.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
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

[[noreturn]] void refuse_piece(const GradientPiece& piece,
                               const std::string& why) {
  throw Error(absl::InvalidArgumentError(absl::StrCat(
      "a buffer of gradients: the piece '", piece.key, "', ", piece.elements,
      " elements from ", piece.offset, " on, ", why, ". Nothing was added")));
}

// That all lie within `elements` elements, none on another, each with a key of its
// own.
void check_pieces(const std::vector<GradientPiece>& pieces,
                  std::int64_t elements) {
  std::vector<const GradientPiece*> by_offset;
  absl::flat_hash_set<std::string_view> keys;
  for (const GradientPiece& piece : pieces) {
    by_offset.push_back(&piece);
    if (piece.offset < 0 || piece.elements < 0 || piece.offset > elements ||
        piece.elements > elements - piece.offset) {
      refuse_piece(piece, absl::StrCat("does not lie within its ", elements));
    }
    if (!keys.insert(piece.key).second) {
      refuse_piece(piece, "has the key of another one; give it one of its own");
    }
  }
  std::sort(by_offset.begin(), by_offset.end(),
            [](const GradientPiece* a, const GradientPiece* b) {
              return std::pair(a->offset, a->elements) <
                     std::pair(b->offset, b->elements);
            });
  for (std::size_t i = 1; i < by_offset.size(); ++i) {
    const GradientPiece& before = *by_offset[i - 1];
    if (before.offset + before.elements <= by_offset[i]->offset) continue;
    refuse_piece(*by_offset[i],
                 absl::StrCat("shares elements with '", before.key, "'"));
  }
}

TensorView view_of(const TensorView& buffer, const GradientPiece& piece) {
  auto* const bytes = static_cast<std::byte*>(buffer.data());
  const std::size_t offset =
      static_cast<std::size_t>(piece.offset) * size_of(buffer.dtype());
  return {bytes + offset, buffer.dtype(), Shape({piece.elements}),
          buffer.device()};
}

}  // namespace

class GradientReducer::State {
 public:
  State(Runtime& runtime, ReducerOptions options);

  void expect(const std::string& key, int contributions);
  bool contribute(const std::string& key);
  int owed(const std::string& key) const;
  void add(const std::string& key, TensorView gradient,
           std::shared_ptr<const void> keep_alive);
  void add(const TensorView& buffer, const std::vector<GradientPiece>& pieces,
           const std::shared_ptr<const void>& keep_alive);
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

  void check_not_added(const std::string& key) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void start(Runtime& runtime, const std::string& key, TensorView gradient,
             std::shared_ptr<const void> keep_alive)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
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

void GradientReducer::State::check_not_added(const std::string& key) const {
  const auto found = records_.find(key);
  if (found == records_.end() || !found->second.is_added) return;
  throw Error(absl::AlreadyExistsError(absl::StrCat(
      "the gradient of '", key,
      "' was handed over twice in one step; finish() the step first")));
}

void GradientReducer::State::start(Runtime& runtime, const std::string& key,
                                   TensorView gradient,
                                   std::shared_ptr<const void> keep_alive) {
  const double factor = options_.gradient_predivide_factor;
  Records::value_type& entry = *records_.try_emplace(key).first;
  Record& record = entry.second;
  record.reduced = runtime.allreduce_async_(
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

void GradientReducer::State::add(const std::string& key, TensorView gradient,
                                 std::shared_ptr<const void> keep_alive) {
  const std::shared_ptr<Runtime> runtime = value_or_throw(job());
  MutexLock lock(mutex_);
  check_not_added(key);
  start(*runtime, key, std::move(gradient), std::move(keep_alive));
}

void GradientReducer::State::add(
    const TensorView& buffer, const std::vector<GradientPiece>& pieces,
    const std::shared_ptr<const void>& keep_alive) {
  check_pieces(pieces, buffer.num_elements());
  const std::shared_ptr<Runtime> runtime = value_or_throw(job());
  MutexLock lock(mutex_);
  for (const GradientPiece& piece : pieces) check_not_added(piece.key);
  for (const GradientPiece& piece : pieces) {
    start(*runtime, piece.key, view_of(buffer, piece), keep_alive);
  }
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

void GradientReducer::add(const TensorView& buffer,
                          const std::vector<GradientPiece>& pieces,
                          const std::shared_ptr<const void>& keep_alive) {
  state_->add(buffer, pieces, keep_alive);
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
