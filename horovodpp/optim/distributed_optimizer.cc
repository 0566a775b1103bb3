// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/distributed_optimizer.h"

#include <algorithm>
#include <map>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/engine.h"
#include "horovodpp/core/mutex.h"
#include "horovodpp/core/status.h"
#include "horovodpp/nn/safetensors_header.h"
#include "horovodpp/replica/broadcast.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/runtime.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::optim {
namespace {

// Kept, where it is the current one, for as long as somebody works with it.
std::shared_ptr<Runtime> runtime_of(Runtime* given) {
  if (given == nullptr) return value_or_throw(find_runtime());
  return std::shared_ptr<Runtime>(std::shared_ptr<void>(), given);
}

int checked_passes(int passes) {
  if (passes < 1) {
    throw Error(absl::InvalidArgumentError(absl::StrCat(
        "backward_passes_per_step is ", passes, "; it must be at least 1")));
  }
  return passes;
}

const std::vector<nn::NamedTensor>& parameters_of(
    const std::unique_ptr<Optimizer>& wrapped) {
  if (wrapped == nullptr) {
    throw Error(absl::InvalidArgumentError(
        "DistributedOptimizer was given no optimizer to wrap"));
  }
  return wrapped->parameters();
}

// What a file of `state` would begin with: all names, types and shapes.
nn::SafetensorsHeader header_of(const nn::StateDict& state) {
  nn::SafetensorsHeader header;
  std::uint64_t end = 0;
  for (const auto& [name, tensor] : state) {
    const std::uint64_t begin = std::exchange(end, end + tensor.bytes());
    header.entries.push_back(
        {name, tensor.dtype(), tensor.shape().to_shape(), begin, end});
  }
  return header;
}

// Tensors to receive what such a header tells of.
nn::StateDict empty_state(const std::string& text) {
  const std::string json = text.substr(nn::SafetensorsHeader::kPrefixBytes);
  nn::StateDict state;
  const auto header =
      value_or_throw(nn::parse_safetensors_header(json, std::nullopt));
  for (const nn::SafetensorsEntry& entry : header.entries) {
    state.push_back({entry.name, empty(entry.shape, {.dtype = entry.dtype})});
  }
  return state;
}

// A gradient that was handed over, which lives until it is reduced, whatever
// becomes of the grad().
struct HandedOver {
  std::size_t index;  // Of its parameter.
  Tensor gradient;
};

}  // namespace

// Backward calls that count for all parameters. It hears of those of the whole
// process, on their threads, also when the optimizer is gone.
//
// What a plain backward will not reach is known when it begins. One with a
// reentrant region reaches more by backward calls of its own, on its thread, and
// may show by these alone that it is of this optimizer's parameters: it counts when
// it ends.
class DistributedOptimizer::Passes {
 public:
  explicit Passes(DistributedOptimizer& optimizer) : optimizer_(&optimizer) {}

  void begin(const autograd::BackwardPlan& plan);
  void end(const autograd::BackwardPlan& plan);
  // The optimizer goes.
  void leave() {
    MutexLock lock(mutex_);
    optimizer_ = nullptr;
  }

 private:
  struct Unreached {
    std::size_t index;
    int owed;  // Before.
  };
  // A backward that may reach more than it says.
  struct Open {
    std::thread::id thread = std::this_thread::get_id();
    bool is_ours = false;
    std::vector<Unreached> unreached = {};  // By what is known of it.
  };

  // The optimizer, if the backward is one of its parameters'; it does not go while
  // that runs.
  DistributedOptimizer* owner_of(const autograd::BackwardPlan& plan) const;
  static std::vector<Unreached> unreached_by(
      const autograd::BackwardPlan* plan,
      const DistributedOptimizer& optimizer);
  void begin_within(const DistributedOptimizer& optimizer);
  Open take(const autograd::BackwardPlan& plan);

  mutable Mutex mutex_;
  DistributedOptimizer* optimizer_ ABSL_GUARDED_BY(mutex_);
  std::map<const autograd::BackwardPlan*, Open> open_ ABSL_GUARDED_BY(mutex_);
};

DistributedOptimizer* DistributedOptimizer::Passes::owner_of(
    const autograd::BackwardPlan& plan) const {
  MutexLock lock(mutex_);
  if (optimizer_ == nullptr) return nullptr;
  const auto& parameters = optimizer_->parameters();
  const bool any = std::any_of(
      parameters.begin(), parameters.end(),
      [&](const auto& parameter) { return plan.reaches(parameter.tensor); });
  return any ? optimizer_ : nullptr;
}

// Without a plan: all.
std::vector<DistributedOptimizer::Passes::Unreached>
DistributedOptimizer::Passes::unreached_by(
    const autograd::BackwardPlan* plan, const DistributedOptimizer& optimizer) {
  std::vector<Unreached> unreached;
  for (std::size_t i = 0; i < optimizer.parameters().size(); ++i) {
    const auto& [name, parameter] = optimizer.parameters()[i];
    if (!parameter.requires_grad()) continue;
    if (plan != nullptr && plan->reaches(parameter)) continue;
    unreached.push_back({i, optimizer.reducer_.owed(name)});
  }
  return unreached;
}

void DistributedOptimizer::Passes::begin(const autograd::BackwardPlan& plan) {
  take(plan);  // Of one at the same address that failed to begin.
  DistributedOptimizer* const optimizer = owner_of(plan);
  if (plan.depth() > 0) {
    if (optimizer != nullptr) begin_within(*optimizer);
    return;
  }
  std::vector<Unreached> unreached;
  if (optimizer != nullptr) unreached = unreached_by(&plan, *optimizer);
  if (plan.may_reach_more()) {
    MutexLock lock(mutex_);
    open_[&plan] = {.is_ours = optimizer != nullptr,
                    .unreached = std::move(unreached)};
    return;
  }
  for (const auto& [index, owed] : unreached) {
    if (owed > 0) optimizer->on_accumulated(index);
  }
}

// The one around it is the optimizer's, too.
void DistributedOptimizer::Passes::begin_within(
    const DistributedOptimizer& optimizer) {
  MutexLock lock(mutex_);
  for (auto& [plan, open] : open_) {
    if (open.thread != std::this_thread::get_id() || open.is_ours) continue;
    open.is_ours = true;
    open.unreached = unreached_by(nullptr, optimizer);
  }
}

void DistributedOptimizer::Passes::end(const autograd::BackwardPlan& plan) {
  const Open open = take(plan);
  if (!open.is_ours || !plan.completed()) return;
  DistributedOptimizer* optimizer = nullptr;
  {
    MutexLock lock(mutex_);
    optimizer = optimizer_;
  }
  if (optimizer == nullptr) return;
  for (const auto& [index, owed] : open.unreached) {
    const std::string& name = optimizer->parameters()[index].name;
    const bool was_reached = optimizer->reducer_.owed(name) != owed;
    if (owed > 0 && !was_reached) optimizer->on_accumulated(index);
  }
}

DistributedOptimizer::Passes::Open DistributedOptimizer::Passes::take(
    const autograd::BackwardPlan& plan) {
  MutexLock lock(mutex_);
  const auto found = open_.find(&plan);
  if (found == open_.end()) return {};
  Open open = std::move(found->second);
  open_.erase(found);
  return open;
}

DistributedOptimizer::SkipSynchronize::SkipSynchronize(
    DistributedOptimizer& optimizer)
    : skips_(optimizer.skips_synchronize_),
      previous_(std::exchange(*skips_, true)) {}

DistributedOptimizer::SkipSynchronize::~SkipSynchronize() {
  *skips_ = previous_;
}

DistributedOptimizer::DistributedOptimizer(std::unique_ptr<Optimizer> wrapped,
                                           const DistributedOptions& options)
    : Optimizer(parameters_of(wrapped)),
      wrapped_(std::move(wrapped)),
      passes_per_step_(checked_passes(options.backward_passes_per_step)),
      reducer_(*runtime_of(options.runtime),
               {.op = options.op,
                .gradient_predivide_factor = options.gradient_predivide_factor,
                .name = options.name,
                .process_set = options.process_set}) {
  for (std::size_t i = 0; i < parameters().size(); ++i) {
    const auto& [name, parameter] = parameters()[i];
    reducer_.expect(name, passes_per_step_);
    if (!parameter.requires_grad()) continue;
    hooks_.push_back(parameter.register_hook(
        [this, i](const Tensor&) { refuse_surplus(i); }));
    hooks_.push_back(parameter.register_post_accumulate_grad_hook(
        [this, i](const Tensor&) { on_accumulated(i); }));
  }
  if (!options.every_backward_counts) return;
  passes_ = std::make_shared<Passes>(*this);
  hooks_.push_back(autograd::add_backward_observer(
      {.on_start = [passes =
                        passes_](const auto& plan) { passes->begin(plan); },
       .on_end = [passes = passes_](const auto& plan) { passes->end(plan); }}));
}

DistributedOptimizer::~DistributedOptimizer() {
  if (passes_ != nullptr) passes_->leave();
  for (autograd::HookHandle& hook : hooks_) hook.remove();
  // The gradients' memory is borrowed until then.
  try {
    reducer_.finish();
  } catch (...) {
    // Whoever destroys an optimizer does not want to know.
  }
}

// Before the engine adds to a gradient: it must not be on its way already, and
// must have where to go.
void DistributedOptimizer::refuse_surplus(std::size_t index) {
  throw_if_error(reducer_.status());
  const std::string& name = parameters()[index].name;
  if (reducer_.owed(name) > 0) return;
  throw Error(absl::FailedPreconditionError(absl::StrCat(
      "Gradients were computed more than backward_passes_per_step times before "
      "call to step(): '",
      name, "' had its ", passes_per_step_,
      ". Increase backward_passes_per_step to accumulate gradients locally.")));
}

void DistributedOptimizer::on_accumulated(std::size_t index) {
  is_synchronized_ = false;
  if (reducer_.contribute(parameters()[index].name)) hand_over(index);
}

void DistributedOptimizer::hand_over(std::size_t index) {
  const auto& [name, parameter] = parameters()[index];
  Tensor gradient = parameter.grad();
  if (!gradient.defined()) {
    gradient = zeros(parameter.shape(), {.dtype = parameter.dtype()});
    parameter.set_grad(gradient);
  } else if (!gradient.is_contiguous()) {
    gradient = gradient.contiguous();
    parameter.set_grad(gradient);
  }
  const TensorView view = gradient.tensor_view();
  reducer_.add(name, view,
               std::make_shared<const HandedOver>(
                   HandedOver{index, std::move(gradient)}));
}

void DistributedOptimizer::synchronize() {
  throw_if_error(reducer_.status());
  for (std::size_t i = 0; i < parameters().size(); ++i) {
    const auto& [name, parameter] = parameters()[i];
    // A gradient of zeros would have weight decay move what is frozen.
    const bool moves = parameter.requires_grad() || parameter.grad().defined();
    if (moves && !reducer_.has(name)) hand_over(i);
  }
  for (const std::shared_ptr<const void>& reduced : reducer_.finish()) {
    const auto& [index, gradient] =
        *static_cast<const HandedOver*>(reduced.get());
    const auto& [name, parameter] = parameters()[index];
    if (!parameter.grad().is_same(gradient)) {
      throw Error(absl::FailedPreconditionError(absl::StrCat(
          "the gradient of '", name,
          "' was replaced while it was being reduced; clear or replace "
          "gradients after step() or synchronize(), not between backward and "
          "these")));
    }
    gradient.bump_version();
  }
  is_synchronized_ = true;
}

void DistributedOptimizer::step() {
  // Reduced gradients are not reduced again: a sum would grow with every call.
  if (!is_synchronized_ && !*skips_synchronize_) synchronize();
  is_synchronized_ = false;
  wrapped_->step();
}

void DistributedOptimizer::zero_grad(bool set_to_none) {
  if (reducer_.is_pending()) {
    throw Error(absl::FailedPreconditionError(
        "optimizer.zero_grad() was called after loss.backward() but before "
        "optimizer.step() or optimizer.synchronize(). This is prohibited as it "
        "can cause a race condition."));
  }
  wrapped_->zero_grad(set_to_none);
}

void broadcast_parameters(const std::vector<nn::NamedTensor>& tensors,
                          int root_rank,
                          const BroadcastParametersOptions& options) {
  std::vector<replica::NamedView> views;
  views.reserve(tensors.size());
  for (const auto& [name, tensor] : tensors) {
    views.push_back({name, tensor.tensor_view()});
  }
  replica::broadcast(*runtime_of(options.runtime), views, root_rank,
                     {.name = "broadcast", .process_set = options.process_set});
  for (const auto& [name, tensor] : tensors) tensor.bump_version();
}

void broadcast_optimizer_state(Optimizer& optimizer, int root_rank,
                               const BroadcastParametersOptions& options) {
  const std::shared_ptr<Runtime> job = runtime_of(options.runtime);
  Runtime& runtime = *job;
  const bool is_root = runtime.topology().rank() == root_rank;
  nn::StateDict state;
  absl::StatusOr<std::string> header = std::string();
  if (is_root) {
    state = optimizer.state_dict();
    header = nn::format_safetensors_header(header_of(state));
  }
  const auto broadcast = [&](const std::string& name, TensorView view) {
    replica::broadcast(
        runtime, {{name, view}}, root_rank,
        {.name = "optimizer", .process_set = options.process_set});
  };
  // The others wait for a header: that there is none has to be told as well.
  auto bytes = header.ok() ? static_cast<std::int64_t>(header->size())
                           : std::int64_t{-1};
  broadcast("header size", TensorView::of(&bytes, {1}));
  throw_if_error(header.status());
  if (bytes < 0) {
    throw Error(absl::InvalidArgumentError(
        absl::StrCat("the optimizer of rank ", root_rank,
                     " has a state that cannot be sent; "
                     "see the error of that rank")));
  }
  header->resize(static_cast<std::size_t>(bytes));
  broadcast(
      "header",
      TensorView::of(reinterpret_cast<std::uint8_t*>(header->data()), {bytes}));
  if (!is_root) state = empty_state(*header);
  std::vector<replica::NamedView> views;
  for (auto& [name, tensor] : state) {
    tensor = tensor.contiguous();
    views.push_back({name, tensor.tensor_view()});
  }
  replica::broadcast(runtime, views, root_rank,
                     {.name = "optimizer", .process_set = options.process_set});
  if (!is_root) {
    optimizer.load_state_dict(
        state, {.source = absl::StrCat("the state of rank ", root_rank)});
  }
}

}  // namespace hvd::optim
