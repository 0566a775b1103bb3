// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/replica/gradient_reducer.h"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/thread/future.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/replica/gradient_ledger.h"
#include "horovodpp/replica/gradient_pieces.h"
#include "horovodpp/replica/gradient_sender.h"
#include "horovodpp/replica/rows_exchange.h"
#include "horovodpp/runtime/runtime.h"

namespace hvd::replica {

struct GradientReducer::State {
  State(Runtime& runtime, ReducerOptions options)
      : sender(runtime, std::move(options)), ledger(sender.options()) {}

  void add(Runtime& runtime, GradientRecord& record, const TensorView& gradient,
           std::shared_ptr<const void> owner)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  void send(Runtime& runtime, GradientRecord& record,
            const TensorView& gradient) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  void send(Runtime& runtime, GradientGroup& group)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  void send_held(Runtime& runtime) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  void flush();

  mutable Mutex mutex;
  GradientSender sender;  // Sends under the lock.
  GradientLedger ledger ABSL_GUARDED_BY(mutex);
};

void GradientReducer::State::add(Runtime& runtime, GradientRecord& record,
                                 const TensorView& gradient,
                                 std::shared_ptr<const void> owner) {
  GradientGroup* const group = ledger.add(record);
  record.owner = std::move(owner);
  if (group != nullptr) {
    record.gradient = gradient;
    if (group->is_complete()) send(runtime, *group);
  } else if (const std::size_t most = sender.bucket_bytes(); most == 0) {
    send(runtime, record, gradient);
  } else if (ledger.hold(record, gradient) >= most) {
    send_held(runtime);
  }
}

void GradientReducer::State::send(Runtime& runtime, GradientRecord& record,
                                  const TensorView& gradient) {
  record.sent =
      sender.send(runtime, {record.key, gradient, record.owner}, record.call);
}

void GradientReducer::State::send_held(Runtime& runtime) {
  for (GradientRecord* const record : ledger.release()) {
    send(runtime, *record, *record->gradient);
  }
}

// Sends the added members, in the group's order.
void GradientReducer::State::send(Runtime& runtime, GradientGroup& group) {
  group.is_sent = true;
  std::vector<GradientRecord*> added;
  for (GradientRecord* const member : group.members) {
    if (member->is_added) added.push_back(member);
  }
  if (group.scattered == nullptr && added.size() == 1) {
    return send(runtime, *added.front(), *added.front()->gradient);
  }
  Sent sent;
  if (group.scattered != nullptr) {
    sent = sender.send(runtime, *group.scattered);
  } else {
    std::vector<Outgoing> gradients;
    for (const GradientRecord* const record : added) {
      gradients.push_back({record->key, *record->gradient, record->owner});
    }
    sent = sender.send(runtime, std::move(gradients));
  }
  for (GradientRecord* const record : added) record->sent = sent;
}

// Sends incomplete groups, too: a parameter of a group may be frozen, on all
// ranks alike.
void GradientReducer::State::flush() {
  const StatusOr<std::shared_ptr<Runtime>> runtime = sender.job();
  MutexLock lock(mutex);
  if (ledger.holds_any()) {
    throw_if_error(runtime.status());
    send_held(**runtime);
  }
  for (GradientGroup& group : ledger.groups()) {
    if (group.added == 0 || group.is_sent) continue;
    throw_if_error(runtime.status());
    send(**runtime, group);
  }
}

GradientReducer::GradientReducer(Runtime& runtime, ReducerOptions options)
    : state_(std::make_unique<State>(runtime, std::move(options))) {}

// Its futures and handles wait.
GradientReducer::~GradientReducer() = default;

GradientSlot GradientReducer::expect(const std::string& key,
                                     int contributions) {
  if (contributions < 1) {
    throw Error(absl::InvalidArgumentError(
        absl::StrCat("the gradient of '", key, "' is to have ", contributions,
                     " contributions; it must have at least 1")));
  }
  MutexLock lock(state_->mutex);
  GradientRecord& record = state_->ledger.record(key);
  record.expected = contributions;
  return GradientSlot(record);
}

bool GradientReducer::contribute(GradientSlot slot) {
  MutexLock lock(state_->mutex);
  return state_->ledger.contribute(*slot.record_);
}

bool GradientReducer::contribute(const std::string& key) {
  MutexLock lock(state_->mutex);
  return state_->ledger.contribute(state_->ledger.record(key));
}

int GradientReducer::owed(GradientSlot slot) const {
  MutexLock lock(state_->mutex);
  return slot.record_->owed();
}

int GradientReducer::owed(const std::string& key) const {
  MutexLock lock(state_->mutex);
  const GradientRecord* const found = state_->ledger.find(key);
  return found == nullptr ? 1 : found->owed();
}

void GradientReducer::add(GradientSlot slot, const TensorView& gradient,
                          std::shared_ptr<const void> keep_alive) {
  const std::shared_ptr<Runtime> runtime = value_or_throw(job());
  MutexLock lock(state_->mutex);
  state_->add(*runtime, *slot.record_, gradient, std::move(keep_alive));
}

void GradientReducer::add(const std::string& key, const TensorView& gradient,
                          std::shared_ptr<const void> keep_alive) {
  const std::shared_ptr<Runtime> runtime = value_or_throw(job());
  MutexLock lock(state_->mutex);
  state_->add(*runtime, state_->ledger.record(key), gradient,
              std::move(keep_alive));
}

void GradientReducer::add(const TensorView& buffer,
                          const std::vector<GradientPiece>& pieces,
                          const std::shared_ptr<const void>& keep_alive) {
  check_pieces(pieces, buffer.num_elements());
  const std::shared_ptr<Runtime> runtime = value_or_throw(job());
  MutexLock lock(state_->mutex);
  GradientLedger& ledger = state_->ledger;
  for (const GradientPiece& piece : pieces) {
    GradientLedger::check_not_added(ledger.record(piece.key));
  }
  for (const GradientPiece& piece : pieces) {
    state_->add(*runtime, ledger.record(piece.key), view_of(buffer, piece),
                keep_alive);
  }
}

void GradientReducer::add_rows(const std::string& key,
                               const ConstTensorView& rows,
                               const ConstTensorView& values,
                               std::shared_ptr<GatheredRows> result,
                               std::shared_ptr<const void> keep_alive) {
  const Rows sparse = {rows, values, std::move(keep_alive)};
  check_rows(key, sparse, options().op);
  const std::shared_ptr<Runtime> runtime = value_or_throw(job());
  MutexLock lock(state_->mutex);
  GradientRecord& record = state_->ledger.record(key);
  GradientLedger::check_not_added(record);
  // The group must not wait for a gradient that is not sent with it.
  state_->ledger.leave_group(record);
  state_->ledger.add(record);
  record.owner = sparse.keep_alive;
  record.sent = state_->sender.send(*runtime, key, sparse, std::move(result));
}

StatusOr<std::shared_ptr<Runtime>> GradientReducer::job() const {
  return state_->sender.job();
}

const ReducerOptions& GradientReducer::options() const {
  return state_->sender.options();
}

bool GradientReducer::has(GradientSlot slot) const {
  MutexLock lock(state_->mutex);
  return slot.record_->is_added;
}

bool GradientReducer::has(const std::string& key) const {
  MutexLock lock(state_->mutex);
  const GradientRecord* const found = state_->ledger.find(key);
  return found != nullptr && found->is_added;
}

bool GradientReducer::is_pending() const {
  MutexLock lock(state_->mutex);
  return state_->ledger.is_pending();
}

std::vector<double> GradientReducer::sum(const std::string& key,
                                         std::vector<double> values) const {
  const auto count = static_cast<std::int64_t>(values.size());
  const Future<void> done = value_or_throw(job())->allreduce_async_(
      TensorView::of(values.data(), {count}),
      {.name = absl::StrCat(options().name, ".", key),
       .op = ReduceOp::kSum,
       .process_set = options().process_set});
  throw_if_error(done.wait());
  return values;
}

std::vector<std::int64_t> GradientReducer::gather(
    const std::string& key, const std::vector<std::int64_t>& numbers) const {
  const auto count = static_cast<std::int64_t>(numbers.size());
  Future<Buffer> done = value_or_throw(job())->allgather_async(
      ConstTensorView::of(numbers.data(), {count}),
      {.name = absl::StrCat(options().name, ".", key),
       .process_set = options().process_set});
  const Buffer all = value_or_throw(done.take());
  const auto* first = all.data<std::int64_t>();
  return {first, first + all.num_elements()};
}

int GradientReducer::rank() const { return state_->sender.rank(); }
int GradientReducer::num_ranks() const { return state_->sender.num_ranks(); }

ReducerStats GradientReducer::stats() const {
  MutexLock lock(state_->mutex);
  return state_->sender.stats();
}

std::vector<std::shared_ptr<const void>> GradientReducer::finish() {
  state_->flush();
  std::vector<GradientRecord*> pending;
  {
    MutexLock lock(state_->mutex);
    pending = state_->ledger.take(/*sent_only=*/true);
  }
  // Wait for all, even if the first failed: their memory is borrowed.
  absl::Status first;
  for (GradientRecord* const record : pending) record->sent.advance();
  for (GradientRecord* const record : pending) {
    const Status status = record->sent.wait();
    if (status.ok() || !first.ok()) continue;
    first = annotate(status, absl::StrCat("gradient of '", record->key, "'"));
  }
  std::vector<std::shared_ptr<const void>> owners;
  {
    MutexLock lock(state_->mutex);
    owners = state_->ledger.renew(pending);
  }
  throw_if_error(first);
  return owners;
}

void GradientReducer::discard() {
  // Peers may have sent the gradients that are held back here, so send them,
  // too.
  if (const auto runtime = job(); runtime.ok()) {
    MutexLock lock(state_->mutex);
    state_->send_held(**runtime);
  }
  std::vector<GradientRecord*> pending;
  {
    MutexLock lock(state_->mutex);
    pending = state_->ledger.take(/*sent_only=*/false);
  }
  // Gradients that were not sent have no outcome.
  for (GradientRecord* const record : pending) record->sent.abandon();
  std::vector<std::shared_ptr<const void>> owners;
  MutexLock lock(state_->mutex);
  owners = state_->ledger.renew(pending);
}

}  // namespace hvd::replica
