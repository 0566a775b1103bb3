// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/replica/gradient_reducer.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
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

// The part of a gradient's state that its sending needs. It never moves:
// submissions refer to calls, and slots to it.
struct HandedGradient {
  const std::string key;
  const std::size_t index;                  // In the ledger.
  std::optional<TensorView> gradient = {};  // Waits for its group or bucket.
  std::shared_ptr<const void> owner = nullptr;
  Sent sent = {};
  // Set if it was sent alone before.
  std::optional<GradientCall> call = std::nullopt;
};

struct GradientReducer::State {
  State(Runtime& runtime, ReducerOptions options)
      : sender(runtime, std::move(options)), ledger(sender.bucket_bytes()) {
    const MutexLock lock(mutex);
    for (const auto& keys : sender.options().groups) add_group(keys, nullptr);
    for (const ScatteredGroup& group : sender.options().scattered) {
      add_group(group.keys, &group);
    }
  }

  void add_group(const std::vector<std::string>& keys,
                 const ScatteredGroup* of_buffer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  // The gradient of this key, entered if there is none.
  HandedGradient& enter(const std::string& key)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  // Null: the key is unknown.
  const HandedGradient* find(const std::string& key) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  void check_not_added(const HandedGradient& own) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  void add(Runtime& runtime, HandedGradient& own, const TensorView& gradient,
           std::shared_ptr<const void> owner)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  void send(Runtime& runtime, HandedGradient& own, const TensorView& gradient)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  void send_group(Runtime& runtime, std::size_t group)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  void send_held(Runtime& runtime) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  void flush();
  std::vector<HandedGradient*> take(bool sent_only);
  std::vector<std::shared_ptr<const void>> renew(
      const std::vector<HandedGradient*>& taken);

  mutable Mutex mutex;
  GradientSender sender;  // Sends under the lock.
  GradientLedger ledger ABSL_GUARDED_BY(mutex);
  std::vector<std::unique_ptr<HandedGradient>> handed
      ABSL_GUARDED_BY(mutex);  // By index.
  absl::flat_hash_map<std::string_view, HandedGradient*> by_key
      ABSL_GUARDED_BY(mutex);
  // By group; null: its members are sent to all ranks.
  std::vector<const ScatteredGroup*> scattered ABSL_GUARDED_BY(mutex);
};

void GradientReducer::State::add_group(const std::vector<std::string>& keys,
                                       const ScatteredGroup* of_buffer) {
  if (keys.empty()) return;
  std::vector<std::size_t> members;
  for (const std::string& key : keys) members.push_back(enter(key).index);
  ledger.add_group(members);
  scattered.push_back(of_buffer);
}

HandedGradient& GradientReducer::State::enter(const std::string& key) {
  const auto found = by_key.find(key);
  if (found != by_key.end()) return *found->second;
  HandedGradient& entered =
      *handed.emplace_back(std::make_unique<HandedGradient>(
          HandedGradient{.key = key, .index = ledger.enter(key)}));
  by_key.emplace(entered.key, &entered);
  return entered;
}

const HandedGradient* GradientReducer::State::find(
    const std::string& key) const {
  const auto found = by_key.find(key);
  return found == by_key.end() ? nullptr : found->second;
}

void GradientReducer::State::check_not_added(const HandedGradient& own) const {
  if (!ledger.is_added(own.index)) return;
  throw Error(absl::AlreadyExistsError(absl::StrCat(
      "the gradient of '", own.key,
      "' was handed over twice in one step; finish() the step first")));
}

void GradientReducer::State::add(Runtime& runtime, HandedGradient& own,
                                 const TensorView& gradient,
                                 std::shared_ptr<const void> owner) {
  check_not_added(own);
  const Due due = ledger.complete(own.index, gradient.bytes());
  own.owner = std::move(owner);
  if (due == Due::kItself) return send(runtime, own, gradient);
  own.gradient = gradient;
  if (due == Due::kGroup) send_group(runtime, ledger.group_of(own.index));
  if (due == Due::kBucket) send_held(runtime);
}

void GradientReducer::State::send(Runtime& runtime, HandedGradient& own,
                                  const TensorView& gradient) {
  own.sent = sender.send(runtime, {own.key, gradient, own.owner}, own.call);
  ledger.mark_sent(own.index);
}

void GradientReducer::State::send_held(Runtime& runtime) {
  for (const std::size_t i : ledger.release()) {
    send(runtime, *handed[i], *handed[i]->gradient);
  }
}

// Sends the added members, in the group's order.
void GradientReducer::State::send_group(Runtime& runtime, std::size_t group) {
  const std::vector<std::size_t> added = ledger.take_group(group);
  const ScatteredGroup* const buffer = scattered[group];
  if (buffer == nullptr && added.size() == 1) {
    HandedGradient& own = *handed[added.front()];
    return send(runtime, own, *own.gradient);
  }
  Sent sent;
  if (buffer != nullptr) {
    sent = sender.send(runtime, *buffer);
  } else {
    std::vector<Outgoing> gradients;
    for (const std::size_t i : added) {
      const HandedGradient& own = *handed[i];
      gradients.push_back({own.key, *own.gradient, own.owner});
    }
    sent = sender.send(runtime, std::move(gradients));
  }
  for (const std::size_t i : added) {
    handed[i]->sent = sent;
    ledger.mark_sent(i);
  }
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
  for (const std::size_t group : ledger.waiting_groups()) {
    throw_if_error(runtime.status());
    send_group(**runtime, group);
  }
}

std::vector<HandedGradient*> GradientReducer::State::take(bool sent_only) {
  MutexLock lock(mutex);
  std::vector<HandedGradient*> taken;
  for (const std::size_t i : ledger.take(sent_only)) {
    taken.push_back(handed[i].get());
  }
  return taken;
}

// Returns the owners: nothing is released under the lock.
std::vector<std::shared_ptr<const void>> GradientReducer::State::renew(
    const std::vector<HandedGradient*>& taken) {
  std::vector<std::shared_ptr<const void>> owners;
  owners.reserve(taken.size());
  MutexLock lock(mutex);
  for (HandedGradient* const own : taken) {
    owners.push_back(std::move(own->owner));
    own->gradient.reset();
    own->sent = Sent();
    ledger.renew(own->index);
  }
  return owners;
}

std::size_t best_bucket_bytes(const Runtime& job, int threads) {
  const Topology& topology = job.topology();
  return bucket_bytes_for(topology.local_size(), topology.size(), threads);
}

GradientReducer::GradientReducer(Runtime& runtime, ReducerOptions options)
    : state_(std::make_unique<State>(runtime, std::move(options))) {}

// Its futures and handles wait.
GradientReducer::~GradientReducer() = default;

GradientSlot GradientReducer::expect(const std::string& key,
                                     int contributions) {
  MutexLock lock(state_->mutex);
  HandedGradient& own = state_->enter(key);
  state_->ledger.expect(own.index, contributions);
  return GradientSlot(own);
}

GradientSlot GradientReducer::slot(const std::string& key) {
  MutexLock lock(state_->mutex);
  return GradientSlot(state_->enter(key));
}

bool GradientReducer::contribute(GradientSlot slot) {
  MutexLock lock(state_->mutex);
  return state_->ledger.contribute(slot.gradient_->index);
}

bool GradientReducer::contribute(const std::string& key) {
  MutexLock lock(state_->mutex);
  return state_->ledger.contribute(state_->enter(key).index);
}

int GradientReducer::owed(GradientSlot slot) const {
  MutexLock lock(state_->mutex);
  return state_->ledger.owed(slot.gradient_->index);
}

int GradientReducer::owed(const std::string& key) const {
  MutexLock lock(state_->mutex);
  const HandedGradient* const own = state_->find(key);
  return own == nullptr ? 1 : state_->ledger.owed(own->index);
}

void GradientReducer::add(GradientSlot slot, const TensorView& gradient,
                          std::shared_ptr<const void> keep_alive) {
  const std::shared_ptr<Runtime> runtime = value_or_throw(job());
  MutexLock lock(state_->mutex);
  state_->add(*runtime, *slot.gradient_, gradient, std::move(keep_alive));
}

void GradientReducer::add(const std::string& key, const TensorView& gradient,
                          std::shared_ptr<const void> keep_alive) {
  const std::shared_ptr<Runtime> runtime = value_or_throw(job());
  MutexLock lock(state_->mutex);
  state_->add(*runtime, state_->enter(key), gradient, std::move(keep_alive));
}

void GradientReducer::add(const TensorView& buffer,
                          const std::vector<GradientPiece>& pieces,
                          const std::shared_ptr<const void>& keep_alive) {
  check_pieces(pieces, buffer.num_elements());
  const std::shared_ptr<Runtime> runtime = value_or_throw(job());
  MutexLock lock(state_->mutex);
  for (const GradientPiece& piece : pieces) {
    state_->check_not_added(state_->enter(piece.key));
  }
  for (const GradientPiece& piece : pieces) {
    state_->add(*runtime, state_->enter(piece.key), view_of(buffer, piece),
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
  HandedGradient& own = state_->enter(key);
  state_->check_not_added(own);
  // The group must not wait for a gradient that is not sent with it.
  state_->ledger.set_in_group(own.index, false);
  state_->ledger.complete(own.index, /*bytes=*/std::nullopt);
  own.owner = sparse.keep_alive;
  own.sent = state_->sender.send(*runtime, key, sparse, std::move(result));
  state_->ledger.mark_sent(own.index);
}

StatusOr<std::shared_ptr<Runtime>> GradientReducer::job() const {
  return state_->sender.job();
}

const ReducerOptions& GradientReducer::options() const {
  return state_->sender.options();
}

bool GradientReducer::has(GradientSlot slot) const {
  MutexLock lock(state_->mutex);
  return state_->ledger.is_added(slot.gradient_->index);
}

bool GradientReducer::has(const std::string& key) const {
  MutexLock lock(state_->mutex);
  const HandedGradient* const own = state_->find(key);
  return own != nullptr && state_->ledger.is_added(own->index);
}

bool GradientReducer::is_pending() const {
  MutexLock lock(state_->mutex);
  return state_->ledger.is_pending();
}

std::vector<std::size_t> GradientReducer::rest(
    const std::vector<GradientSlot>& slots,
    const std::vector<std::uint8_t>& exist) {
  std::vector<std::size_t> gradients;
  for (const GradientSlot slot : slots)
    gradients.push_back(slot.gradient_->index);
  std::vector<std::uint8_t> facts;
  if (!exist.empty()) {
    {
      MutexLock lock(state_->mutex);
      facts = state_->ledger.facts(gradients, exist);
    }
    const auto count = static_cast<std::int64_t>(facts.size());
    const Future<void> done = value_or_throw(job())->allreduce_async_(
        TensorView::of(facts.data(), {count}),
        {.name = absl::StrCat(options().name, ".(users)"),
         .op = ReduceOp::kMax,
         .process_set = options().process_set});
    throw_if_error(done.wait());
  }
  MutexLock lock(state_->mutex);
  if (!facts.empty()) state_->ledger.agree(gradients, facts);
  std::vector<std::size_t> positions;
  for (std::size_t next = 0;
       const std::size_t i : state_->ledger.rest(gradients)) {
    while (gradients[next] != i) ++next;
    positions.push_back(next);
  }
  return positions;
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
  const std::vector<HandedGradient*> pending = state_->take(/*sent_only=*/true);
  // Wait for all, even if the first failed: their memory is borrowed.
  absl::Status first;
  for (HandedGradient* const own : pending) own->sent.advance();
  for (HandedGradient* const own : pending) {
    const Status status = own->sent.wait();
    if (status.ok() || !first.ok()) continue;
    first = annotate(status, absl::StrCat("gradient of '", own->key, "'"));
  }
  std::vector<std::shared_ptr<const void>> owners = state_->renew(pending);
  throw_if_error(first);
  if (const auto runtime = job(); runtime.ok() && !pending.empty()) {
    (*runtime)->mark_step();
  }
  return owners;
}

void GradientReducer::discard() {
  // Peers may have sent the gradients that are held back here, so send them,
  // too.
  if (const auto runtime = job(); runtime.ok()) {
    MutexLock lock(state_->mutex);
    state_->send_held(**runtime);
  }
  const std::vector<HandedGradient*> pending =
      state_->take(/*sent_only=*/false);
  // Gradients that were not sent have no outcome.
  for (HandedGradient* const own : pending) own->sent.abandon();
  state_->renew(pending);
}

}  // namespace hvd::replica
