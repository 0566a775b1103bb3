#include "horovodpp/checkpoint/region.h"

#include <optional>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "horovodpp/autograd/error.h"
#include "horovodpp/autograd/graph_task.h"
#include "horovodpp/checkpoint/budget_ledger.h"
#include "horovodpp/checkpoint/replay.h"
#include "horovodpp/checkpoint/replay_group.h"
#include "horovodpp/tensor/thread_state.h"

namespace hvd::autograd {
namespace {

// A backward's replay of one region. By the region's mark, too: a region that is
// gone may have left this behind, and another have its address.
struct ReplayOfTask {
  std::uint64_t mark;
  Ref<Replay> replay;
};

// The modes of forward, and its random numbers, for the time of a replay; what
// was in force before comes back.
class ModesOfForward {
 public:
  ModesOfForward(const AutocastSetting& autocast,
                 const std::optional<Generator::State>& random)
      : generator_(default_generator()),
        before_(generator_.state()),
        replays_random_(random.has_value()),
        inference_(false) {
    if (random) generator_.set_state(*random);
    if (autocast == current_autocast()) return;
    autocast_.emplace(autocast.dtype,
                      AutocastOptions{.enabled = autocast.enabled,
                                      .cache_enabled = autocast.cache_enabled});
  }
  ~ModesOfForward() {
    if (replays_random_) generator_.set_state(before_);
  }
  ModesOfForward(const ModesOfForward&) = delete;
  ModesOfForward& operator=(const ModesOfForward&) = delete;

 private:
  Generator& generator_;
  const Generator::State before_;
  const bool replays_random_;
  InferenceMode inference_;
  EnableGrad grad_;
  Recomputing recomputing_;
  std::optional<Autocast> autocast_;
};

}  // namespace

std::uint64_t checksum(const Tensor& tensor) {
  NoGrad no_grad;
  const Tensor rows = tensor.contiguous();
  return absl::HashOf(std::string_view(
      static_cast<const char*>(rows.raw_data()), rows.bytes()));
}

Region::Region(const CheckpointOptions& options)
    : options_(in_scope(options)),
      mark_(Storage::next_mark()),
      autocast_(current_autocast()),
      random_(default_generator().state()) {
  // A replay is for what was let go of: what it makes is needed once.
  if (is_recomputing() || BudgetLedger::current() == nullptr) return;
  ledger_ = BudgetLedger::current();
  {
    SpinLockHolder lock(lock_);
    keeps_ = true;
  }
  ledger_->add(this);
}

Region::~Region() {
  if (ledger_ != nullptr) ledger_->remove(this);
}

void Region::apply(std::span<Tensor> /*gradients*/,
                   std::span<Tensor> /*results*/) {
  throw AutogradError("a checkpointed region has no gradient of its own");
}

void Region::save_inputs(std::span<const Tensor> inputs) {
  inputs_ = std::vector<SavedTensor>(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].defined()) inputs_[i].save(inputs[i]);
  }
}

Region::Forward::Forward(Region& region)
    : region_(region),
      begin_(std::chrono::steady_clock::now()),
      outer_(thread_state.operation_observer),
      keeper_(region),
      observer_(&region),
      effects_(&region.effects_, false) {
  region.running_.store(true, std::memory_order_relaxed);
}

Region::Forward::~Forward() {
  region_.running_.store(false, std::memory_order_relaxed);
}

void Region::Forward::finish() const {
  if (outer_ != nullptr) {
    for (const Captured& captured : region_.captured_) {
      const Tensor tensor = captured.tensor.lock();
      if (tensor.defined()) outer_->reads(tensor);
    }
  }
  if (region_.ledger_ == nullptr) return;
  region_.forward_seconds_.store(
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_)
          .count(),
      std::memory_order_relaxed);
  region_.running_.store(false, std::memory_order_relaxed);
  region_.ledger_->make_room();
}

std::vector<bool> Region::wanted() const {
  SpinLockHolder lock(lock_);
  std::vector<bool> result;
  for (const Content& content : contents_) result.push_back(content.wanted);
  while (!result.empty() && !result.back()) result.pop_back();
  return result;
}

SavedTensorKeeper::Kept Region::keep(const Tensor& tensor) {
  reads(tensor);
  Slot& slot = slots_.emplace_back();
  slot.sizes = tensor.sizes();
  slot.dtype = tensor.dtype();
  slot.operation = operation_;
  if (options_.determinism_check == DeterminismCheck::kChecksum) {
    slot.checksum = checksum(tensor);
  }
  {
    SpinLockHolder lock(lock_);
    Content& content = contents_.emplace_back();
    // A leaf is itself; with its history anything else would own this region.
    if (keeps_) content.value = tensor.is_leaf() ? tensor : tensor.detach();
  }
  if (ledger_ != nullptr) ledger_->make_room();
  return {Ref<SavedTensorHolder>::share(this),
          static_cast<std::uint32_t>(slots_.size() - 1)};
}

void Region::reads(const Tensor& tensor) {
  if (!tensor.defined() || tensor.is_inference()) return;
  Storage& storage = *tensor.impl()->storage;
  if (!storage.is_older_than(mark_) || !storage.first_seen_since(mark_)) return;
  captured_.push_back({WeakTensor(tensor), tensor.impl(), tensor.version()});
}

void Region::records(const Node& node) {
  operation_ = node.name();
  if (options_.debug) log_.add(operation_);
}

Tensor Region::original(std::uint32_t place) const {
  SpinLockHolder lock(lock_);
  return contents_[place].value;
}

void Region::forget(std::uint32_t place) {
  Tensor dropped;  // Goes after the lock.
  SpinLockHolder lock(lock_);
  contents_[place].wanted = false;
  dropped = std::move(contents_[place].value);
}

std::int64_t Region::held_bytes() const {
  SpinLockHolder lock(lock_);
  // Several slots may show one storage, which is free if they are all it has.
  absl::flat_hash_map<const Storage*, std::uint32_t> shows;
  for (const Content& content : contents_) {
    if (!content.value.defined()) continue;
    const Storage* storage = content.value.impl()->storage.get();
    if (!storage->is_older_than(mark_)) ++shows[storage];
  }
  std::int64_t bytes = 0;
  for (const auto& [storage, count] : shows) {
    if (storage->owners() <= count) {
      bytes += static_cast<std::int64_t>(storage->bytes());
    }
  }
  return bytes;
}

std::vector<Tensor> Region::drop() {
  std::vector<Tensor> dropped;
  SpinLockHolder lock(lock_);
  keeps_ = false;
  for (Content& content : contents_) {
    dropped.push_back(std::move(content.value));
  }
  return dropped;
}

Tensor Region::restore(std::uint32_t place, Node& node) {
  if (Tensor kept = original(place); kept.defined()) return kept;
  GraphTask* task = thread_state.graph_task;
  ReplayGroup* group = ReplayGroup::current();
  if (group != nullptr) {
    if (const Ref<Replay> found = group->replay_of(mark_)) {
      return found->take(place, node);
    }
  } else if (task != nullptr) {
    const auto found =
        std::static_pointer_cast<ReplayOfTask>(task->local(this));
    if (found != nullptr && found->mark == mark_) {
      return found->replay->take(place, node);
    }
  }
  const auto replay = Ref<Replay>::adopt(new Replay(*this));
  replay_into(*replay);
  if (group != nullptr) {
    group->replay_of(mark_) = replay;
  } else if (task != nullptr) {
    task->local(this) =
        std::make_shared<ReplayOfTask>(ReplayOfTask{mark_, replay});
  }
  return replay->take(place, node);
}

void Region::replay_into(Replay& replay) {
  if (ledger_ != nullptr) ledger_->make_room();
  std::vector<Tensor> inputs;
  {
    EnableGrad with_history;
    for (SavedTensor& input : inputs_) inputs.push_back(input.unpack(*this));
  }
  const ModesOfForward modes(autocast_,
                             options_.preserve_rng_state
                                 ? std::optional<Generator::State>(random_)
                                 : std::nullopt);
  const SavedTensorKeeper::Scope keeper(replay);
  const OperationObserver::Scope observer(&replay);
  const EffectLog::Scope effects(&effects_, true);
  try {
    call_again(inputs);
  } catch (const ReplayIsComplete&) {
    return;
  }
  replay.check_complete();
}

}  // namespace hvd::autograd
