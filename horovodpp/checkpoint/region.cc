// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/checkpoint/region.h"

#include <memory>
#include <optional>
#include <utility>

#include "horovodpp/autograd/graph/graph_state.h"
#include "horovodpp/autograd/graph_task.h"
#include "horovodpp/autograd/record/captured_tensors.h"
#include "horovodpp/checkpoint/budgets/budget_ledger.h"
#include "horovodpp/checkpoint/replay.h"
#include "horovodpp/checkpoint/replay_group.h"
#include "horovodpp/core/trace/span.h"
#include "horovodpp/tensor/base/thread_state.h"

namespace hvd::autograd {
namespace {

// A backward's replay of one region. Identified by mark, since a later region
// may have the address of a destroyed one.
struct ReplayOfTask {
  std::uint64_t mark;
  Ref<Replay> replay;
};

// Restores the modes and random numbers of forward during a replay, then those
// in force before.
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

Tensor Region::restore(std::uint32_t place, Node& node) {
  if (Tensor kept = original(place); kept.defined()) return kept;
  GraphTask* task = graph_state.graph_task;
  ReplayGroup* group = ReplayGroup::current();
  if (group != nullptr) {
    if (const Ref<Replay> found = group->replay_of(mark())) {
      return found->take(place, node);
    }
  } else if (task != nullptr) {
    const auto* found = static_cast<ReplayOfTask*>(task->local(this).get());
    if (found != nullptr && found->mark == mark()) {
      return found->replay->take(place, node);
    }
  }
  const bool again =
      group != nullptr || task == nullptr || task->options().retain_graph;
  const auto replay = Ref<Replay>::adopt(
      new Replay(*this, again, graph_state.operation_observer));
  replay_into(*replay);
  if (group != nullptr) {
    group->replay_of(mark()) = replay;
  } else if (task != nullptr) {
    task->local(this) =
        std::make_shared<ReplayOfTask>(ReplayOfTask{mark(), replay});
  }
  return replay->take(place, node);
}

void Region::replay_into(Replay& replay) {
  const trace::Span span("recompute");
  if (ledger() != nullptr) {
    ledger()->has_more();
    ledger()->make_room(0);
  }
  const std::vector<Tensor> inputs = unpacked_inputs();
  const CapturedTensors::AsInForward leaves(captured());
  const ModesOfForward modes(autocast(),
                             options().preserve_rng_state
                                 ? std::optional<Generator::State>(random())
                                 : std::nullopt);
  const std::shared_ptr<void> context =
      options().recompute_context ? options().recompute_context() : nullptr;
  const SavedTensorStore::Scope store(replay);
  const OperationObserver::Scope observer(&replay);
  BudgetFamily family =
      ledger() == nullptr ? BudgetFamily() : BudgetFamily(ledger(), children());
  const BudgetFamily::Scope members(family);
  const EffectScope effects(&this->effects(), true);
  try {
    call_again(inputs);
  } catch (const ReplayIsComplete&) {
    return;
  }
  replay.check_complete();
}

}  // namespace hvd::autograd
