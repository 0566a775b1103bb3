#include "horovodpp/checkpoint/region.h"

#include <optional>
#include <string_view>
#include <utility>

#include "absl/hash/hash.h"
#include "horovodpp/autograd/error.h"
#include "horovodpp/autograd/graph_task.h"
#include "horovodpp/autograd/thread_state.h"
#include "horovodpp/checkpoint/replay.h"
#include "horovodpp/checkpoint/replay_group.h"

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
      random_(default_generator().state()) {}

Region::~Region() = default;

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
      outer_(thread_state.operation_observer),
      keeper_(region),
      observer_(&region),
      effects_(&region.effects_, false) {}

Region::Forward::~Forward() {
  if (outer_ == nullptr) return;
  // What this region read from outside the one around it, that one has read.
  for (const Captured& captured : region_.captured_) {
    if (const Tensor tensor = captured.tensor.lock(); tensor.defined()) {
      outer_->reads(tensor);
    }
  }
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
    contents_.emplace_back();
  }
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
