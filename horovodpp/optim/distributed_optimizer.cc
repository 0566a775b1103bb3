// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/distributed_optimizer.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/sparse_gradient.h"
#include "horovodpp/autograd/warning.h"
#include "horovodpp/core/invalid_argument.h"
#include "horovodpp/core/status.h"
#include "horovodpp/optim/arena_gradients.h"
#include "horovodpp/optim/backward_watch.h"
#include "horovodpp/optim/compression_advice.h"
#include "horovodpp/optim/gradients.h"
#include "horovodpp/optim/parameter_claim.h"
#include "horovodpp/optim/parameter_shards.h"
#include "horovodpp/optim/replica_check.h"
#include "horovodpp/optim/sparse_reduction.h"
#include "horovodpp/optim/stopwatch.h"
#include "horovodpp/optim/surplus.h"
#include "horovodpp/runtime/runtime.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::optim {
namespace {

constexpr const char* kCompression = "compression.";
// Before it is known what compression costs.
constexpr std::int64_t kTrialSteps = 10;

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

// A gradient that was handed over, which lives until it is reduced, whatever
// becomes of the grad().
struct HandedOver {
  std::size_t index;  // Of its parameter.
  mutable Tensor gradient;
  std::uint32_t version;  // Nobody else writes it meanwhile.
  std::shared_ptr<replica::GatheredRows> rows = nullptr;  // Of a sparse one.
};

void check(const DistributedStepOptions& options, ReduceOp op) {
  // Written so that NaN fails too.
  if (!(options.max_norm >= 0)) {
    throw InvalidArgument(absl::StrCat("step(): max_norm is ", options.max_norm,
                                       "; it must not be negative"));
  }
  if (!options.weight) return;
  if (!(*options.weight >= 0) || !std::isfinite(*options.weight)) {
    throw InvalidArgument(
        absl::StrCat("step(): the weight is ", *options.weight,
                     "; it must be a number that is not negative"));
  }
  if (op != ReduceOp::kAverage) {
    throw InvalidArgument(absl::StrCat(
        "step(): a weight goes with op average, not with op ", name_of(op)));
  }
}

}  // namespace

DistributedOptimizer::SkipSynchronize::SkipSynchronize(
    DistributedOptimizer& optimizer)
    : skips_(optimizer.skips_synchronize_),
      previous_(std::exchange(*skips_, true)) {}

DistributedOptimizer::SkipSynchronize::~SkipSynchronize() {
  *skips_ = previous_;
}

std::vector<std::vector<std::string>> GradientGroups::names_in(
    const std::vector<nn::NamedTensor>& parameters) const {
  if (number_ < 0) {
    throw InvalidArgument(absl::StrCat(
        "groups should be a non-negative integer or a list of lists of "
        "parameters, not ",
        number_));
  }
  std::vector<std::vector<std::string>> result;
  absl::flat_hash_map<const void*, std::string> names;
  std::vector<std::string> moving;
  for (const auto& [name, tensor] : parameters) {
    names[tensor.impl()] = name;
    // A group waits for all of its members.
    if (tensor.requires_grad()) moving.push_back(name);
  }
  const std::size_t count =
      std::min(static_cast<std::size_t>(number_), moving.size());
  for (std::size_t g = 0; g < count; ++g) {
    const auto at = [&](std::size_t group) {
      return moving.begin() +
             static_cast<std::ptrdiff_t>(group * moving.size() / count);
    };
    result.emplace_back(at(g), at(g + 1));
  }
  absl::flat_hash_set<std::string> seen;
  for (const std::vector<Tensor>& group : groups_) {
    std::vector<std::string>& members = result.emplace_back();
    for (const Tensor& tensor : group) {
      const auto found = names.find(tensor.impl());
      if (found == names.end()) {
        throw InvalidArgument(
            "groups must consist of parameters of the optimizer");
      }
      if (!seen.insert(found->second).second) {
        throw InvalidArgument(
            absl::StrCat("A parameter can only appear once in groups. '",
                         found->second, "' appears twice"));
      }
      members.push_back(found->second);
    }
  }
  return result;
}

DistributedOptimizer::DistributedOptimizer(std::unique_ptr<Optimizer> wrapped,
                                           const DistributedOptions& options)
    : Optimizer(parameters_of(wrapped)),
      wrapped_(std::move(wrapped)),
      op_(options.op),
      compressor_(options.compression),
      passes_per_step_(checked_passes(options.backward_passes_per_step)),
      averages_passes_(options.average_passes),
      name_(options.name),
      process_set_(options.process_set),
      membership_(job_of(options.runtime)->membership()),
      sparse_as_dense_(options.sparse_as_dense),
      check_every_(options.check_parameters_every),
      shards_(shards_of(*wrapped_, options)),
      reducer_(*job_of(options.runtime),
               {.op = options.op,
                .gradient_predivide_factor = options.gradient_predivide_factor,
                .scale = options.average_passes ? 1.0 / passes_per_step_ : 1.0,
                .groups = options.groups.names_in(parameters()),
                .scattered = shards_ == nullptr
                                 ? std::vector<replica::ScatteredGroup>()
                                 : shards_->groups(),
                .compressor = options.compression,
                .observer = options.observer,
                .name = options.name,
                .process_set = options.process_set}),
      claim_(std::make_unique<ParameterClaim>(
          parameters(), options.name, job_of(options.runtime)->membership())),
      has_hooks_(parameters().size()) {
  if (check_every_ < 0) {
    throw InvalidArgument(absl::StrCat("check_parameters_every is ",
                                       check_every_,
                                       "; it must not be negative"));
  }
  if (!sparse_as_dense_) check_sparse_op(parameters(), op_);
  if (compressor_ != nullptr) {
    warn_if_in_vain(*compressor_, reducer_.num_ranks(),
                    job_of(options.runtime)->topology());
  }
  std::vector<Tensor> tensors;
  for (const auto& [name, parameter] : parameters()) {
    reducer_.expect(name, passes_per_step_);
    tensors.push_back(parameter);
  }
  watch_ = std::make_unique<BackwardWatch>(
      std::move(tensors),
      BackwardEvents{
          .contribute = [this](std::size_t index) { contribute(index); },
          .owed =
              [this](std::size_t index) {
                return reducer_.owed(parameters()[index].name);
              }},
      options.every_backward_counts);
  place_gradients(options);
  attach_hooks();
}

// Where the ranks of one node reduce gradients, in memory of all of them.
void DistributedOptimizer::place_gradients(const DistributedOptions& options) {
  if (shards_ != nullptr) {
    shards_->move_in();
    sharded().keep_parts(shards_->parts());
    return;
  }
  const std::shared_ptr<Runtime> job = job_of(options.runtime);
  const Topology& topology = job->topology();
  if (reducer_.num_ranks() < 2 || topology.local_size() < topology.size() ||
      compressor_ != nullptr || op_ == ReduceOp::kAdasum) {
    return;
  }
  std::vector<Tensor> tensors;
  for (const std::size_t i : order_of_gradients(
           parameters(), options.groups.names_in(parameters()))) {
    const Tensor& parameter = parameters()[i].tensor;
    if (!parameter.requires_grad() || is_sparse_parameter(parameter)) continue;
    tensors.push_back(parameter);
  }
  in_arena_ = std::make_unique<ArenaGradients>();
  in_arena_->add(*job, tensors);
}

// Of parameters that require grad now and had none yet.
void DistributedOptimizer::attach_hooks() {
  for (std::size_t i = 0; i < parameters().size(); ++i) {
    const Tensor& parameter = parameters()[i].tensor;
    if (has_hooks_[i] || !parameter.requires_grad()) continue;
    has_hooks_[i] = true;
    watch_->watch(i);
    hooks_.push_back(parameter.register_hook([this, i](const Tensor&) {
      refuse_surplus(reducer_, parameters()[i].name, passes_per_step_);
    }));
    hooks_.push_back(
        parameter.register_post_accumulate_grad_hook([this, i](const Tensor&) {
          is_synchronized_ = false;
          watch_->reached(i);
        }));
  }
}

DistributedOptimizer::~DistributedOptimizer() {
  watch_.reset();
  for (autograd::HookHandle& hook : hooks_) hook.remove();
  for (autograd::HookHandle& hook : forward_hooks_) hook.remove();
  // The gradients' memory is borrowed until then.
  reducer_.discard();
  try {
    finish_step();
  } catch (const Error&) {
    // Who needs the parameters after this hears of it from the job.
  }
}

void DistributedOptimizer::contribute(std::size_t index) {
  is_synchronized_ = false;
  if (reducer_.contribute(parameters()[index].name)) hand_over(index);
}

void DistributedOptimizer::hand_over(std::size_t index) {
  const auto& [name, parameter] = parameters()[index];
  if (is_sparse_parameter(parameter)) {
    if (!sparse_as_dense_) return hand_over_rows(index);
    make_dense(parameter);
  }
  Tensor gradient = parameter.grad();
  if (shards_ != nullptr && shards_->has(index)) {
    gradient = shards_->gradient_in_place(index);
  } else if (!gradient.defined()) {
    gradient = zeros(parameter.shape(), {.dtype = parameter.dtype()});
    parameter.set_grad(gradient);
  } else if (!gradient.is_contiguous()) {
    gradient = gradient.contiguous();
    parameter.set_grad(gradient);
  }
  const TensorView view = gradient.tensor_view();
  reducer_.add(name, view,
               std::make_shared<const HandedOver>(
                   HandedOver{index, gradient, gradient.version()}));
}

void DistributedOptimizer::hand_over_rows(std::size_t index) {
  const auto& [name, parameter] = parameters()[index];
  make_sparse(parameter);
  const Tensor gradient = autograd::kept_gradient(parameter);
  const SparseRows rows = autograd::rows_of(gradient);
  const auto result = std::make_shared<replica::GatheredRows>();
  const auto handed = std::make_shared<const std::pair<HandedOver, SparseRows>>(
      HandedOver{index, gradient, gradient.version(), result}, rows);
  reducer_.add_rows(name, rows.rows.tensor_view(), rows.values.tensor_view(),
                    result,
                    std::shared_ptr<const HandedOver>(handed, &handed->first));
}

// A gradient that has been reduced.
void DistributedOptimizer::take_over(
    const std::shared_ptr<const void>& reduced) {
  const auto& handed = *static_cast<const HandedOver*>(reduced.get());
  const Tensor& parameter = parameters()[handed.index].tensor;
  if (handed.rows != nullptr) {
    take_gathered(parameter, *handed.rows);
    return;
  }
  handed.gradient.bump_version();
  if (is_sparse_parameter(parameter)) {
    autograd::set_sparse_grad(parameter, nonzero_rows(handed.gradient));
  }
  // The job may still hold `reduced` for a moment: not the gradient, whose place the
  // next one is to have.
  handed.gradient = Tensor();
}

void DistributedOptimizer::synchronize() {
  reduce();
  complete_gradients();
  synchronized_by_caller_ = true;
}

void DistributedOptimizer::reduce() {
  throw_if_error(reducer_.status());
  finish_step();
  attach_hooks();
  for (std::size_t i = 0; i < parameters().size(); ++i) {
    const auto& [name, parameter] = parameters()[i];
    // A gradient of zeros would have weight decay move what is frozen.
    const bool moves = parameter.requires_grad() ||
                       autograd::kept_gradient(parameter).defined();
    if (moves && !reducer_.has(name)) hand_over(i);
  }
  std::vector<std::shared_ptr<const void>> all;
  {
    const Stopwatch waiting(exposed_);
    all = reducer_.finish();
  }
  for (const std::shared_ptr<const void>& reduced : all) {
    const auto& [index, gradient, version, rows] =
        *static_cast<const HandedOver*>(reduced.get());
    const auto& [name, parameter] = parameters()[index];
    if (!autograd::kept_gradient(parameter).is_same(gradient)) {
      throw Error(absl::FailedPreconditionError(absl::StrCat(
          "the gradient of '", name,
          "' was replaced while it was being reduced; clear or replace "
          "gradients after step() or synchronize(), not between backward and "
          "these")));
    }
    if (gradient.version() != version) {
      throw Error(absl::FailedPreconditionError(absl::StrCat(
          "the gradient of '", name,
          "' was written while it was being reduced; change gradients after "
          "synchronize(), or between backward calls before the last one of a "
          "step")));
    }
  }
  for (const std::shared_ptr<const void>& reduced : all) take_over(reduced);
  is_synchronized_ = true;
  gradients_are_whole_ = shards_ == nullptr;
}

void DistributedOptimizer::finish_gradients() {
  reduce_unless_done();
  complete_gradients();
}

void DistributedOptimizer::reduce_unless_done() {
  // Reduced gradients are not reduced again: a sum would grow with every call.
  if (is_synchronized_) return;
  if (*skips_synchronize_) {
    if (!reducer_.is_pending()) return;
    throw Error(absl::FailedPreconditionError(
        "step() under skip_synchronize(), where gradients are being reduced; "
        "call synchronize() before"));
  }
  reduce();
  synchronized_by_caller_ = false;
}

void DistributedOptimizer::step() {
  if (is_synchronized_ && synchronized_by_caller_ && !*skips_synchronize_) {
    autograd::warn_once(
        "DistributedOptimizer.synchronize",
        "optimizer.step() called without optimizer.skip_synchronize() context "
        "after optimizer.synchronize(). The gradients are not reduced again; "
        "say so with skip_synchronize(), or leave synchronize() to step().");
  }
  reduce_unless_done();
  make_step();
}

void DistributedOptimizer::make_step() {
  if (shards_ != nullptr && !is_synchronized_) {
    throw Error(absl::FailedPreconditionError(
        "step() where updates are sharded, and skip_synchronize() keeps the "
        "gradients from being reduced: each rank would move its part along "
        "gradients of its own; call synchronize() before"));
  }
  are_replicas_ = are_replicas_ && is_synchronized_;
  is_synchronized_ = false;
  if (shards_ != nullptr) shards_->check_in_place();
  wrapped_->step();
  if (shards_ != nullptr) {
    shards_->start_gathering();
    if (!gathers_during_forward_) finish_step();
    for (const std::size_t index : waits_at_once_) shards_->wait_for(index);
  }
  ++steps_;
  if (compressor_ != nullptr && steps_ == kTrialSteps) advise();
  if (check_every_ > 0 && steps_ % check_every_ == 0 && are_replicas_ &&
      reducer_.num_ranks() > 1) {
    finish_step();
    check_replicas(parameters(), reducer_, steps_);
  }
}

// Within a node the constructor has warned.
void DistributedOptimizer::advise() {
  const std::shared_ptr<Runtime> job = value_or_throw(membership_.enter());
  const Topology& topology = job->topology();
  const bool spans_nodes = topology.local_size() < topology.size();
  if (reducer_.num_ranks() < 2 || !spans_nodes) return;
  const compression::CompressionStats stats = compressor_->stats();
  if (stats.gradient_bytes == 0) return;
  const double link = measure_link(*job, process_set_, name_ + ".(link)");
  const std::optional<std::string> text =
      advice(compressor_->name(),
             {.ranks = reducer_.num_ranks(),
              .plain_seconds = link,
              .start_seconds = static_cast<double>(stats.start_nanoseconds) *
                               1e-9 / static_cast<double>(stats.gradient_bytes),
              .traffic = compressor_->traffic(reducer_.num_ranks())});
  if (text) autograd::warn_once("compression.link", *text);
}

StepResult DistributedOptimizer::step(const DistributedStepOptions& options) {
  check(options, op_);
  StepResult result;
  if (options.closure) result.loss = options.closure();
  reduce_unless_done();
  const std::optional<double> factor = examine(options, result);
  result.stepped = factor.has_value();
  if (factor.has_value() && *factor != 1.0) {
    scale_gradients(parts_to_move(), *factor, "step()");
  }
  is_synchronized_ = is_synchronized_ && result.stepped;
  if (result.stepped) make_step();
  if (options.grad_scaler != nullptr) {
    options.grad_scaler->note(*this, result.stepped);
    if (options.update_scaler) options.grad_scaler->update();
  }
  return result;
}

// Of the gradients, what this rank steps along.
std::vector<GradientPart> DistributedOptimizer::parts_to_move() const {
  if (shards_ == nullptr) return whole(gradients_of(parameters()));
  const std::vector<ElementRange> mine = shards_->parts();
  std::vector<GradientPart> parts;
  for (std::size_t i = 0; i < mine.size(); ++i) {
    const Tensor grad = parameters()[i].tensor.grad();
    if (grad.defined()) parts.push_back({grad, mine[i]});
  }
  return parts;
}

// What it looks at: of gradients that all ranks have, its share.
std::vector<GradientPart> DistributedOptimizer::parts_to_look_at() const {
  const int rank = reducer_.rank();
  const int ranks = reducer_.num_ranks();
  std::vector<GradientPart> parts;
  if (shards_ == nullptr) {
    for (const Tensor& gradient : gradients_of(parameters())) {
      parts.push_back(share_of(gradient, rank, ranks));
    }
    return parts;
  }
  parts = parts_to_move();
  for (std::size_t i = 0, next = 0; i < parameters().size(); ++i) {
    if (!parameters()[i].tensor.grad().defined()) continue;
    GradientPart& part = parts[next++];
    if (!shards_->has(i)) part = share_of(part.gradient, rank, ranks);
  }
  return parts;
}

std::optional<double> DistributedOptimizer::examine(
    const DistributedStepOptions& options, StepResult& result) {
  const bool scales =
      options.grad_scaler != nullptr && options.grad_scaler->enabled();
  const bool clips = std::isfinite(options.max_norm);
  if (!scales && !clips && !options.weight) return 1.0;
  if (options.weight && !is_synchronized_) {
    throw Error(absl::FailedPreconditionError(
        "step() with a weight, where skip_synchronize() keeps the gradients "
        "from being reduced; call synchronize() before"));
  }
  GradientFindings found;
  if (scales || clips) {
    // Reduced gradients are the same on all ranks: each looks at its share.
    found = look_at(is_synchronized_ ? parts_to_look_at() : parts_to_move());
  }
  const std::vector<double> sums = reducer_.sum(
      "(step)", {is_synchronized_ ? found.squared_norm : 0.0,
                 found.is_finite ? 0.0 : 1.0, options.weight.value_or(0.0)});
  double factor = scales ? 1.0 / options.grad_scaler->factor() : 1.0;
  if (options.weight) {
    if (!(sums[2] > 0)) {
      throw Error(absl::FailedPreconditionError(
          "the weights of all ranks add up to 0: there is nothing to step "
          "along"));
    }
    factor *= reducer_.num_ranks() / sums[2];
  }
  if (!scales && !clips) return factor;
  const double squares = is_synchronized_ ? sums[0] : found.squared_norm;
  result.norm = std::sqrt(squares) * factor;
  if (sums[1] > 0) {
    if (scales) return std::nullopt;
    throw Error(absl::OutOfRangeError(absl::StrCat(
        "the gradients of ", sums[1], " of ", reducer_.num_ranks(),
        " shares are not finite, so they cannot be clipped; the parameters "
        "stay as they are")));
  }
  // As clip_grad_norm_().
  const double shrink = options.max_norm / (*result.norm + 1e-6);
  return clips && shrink < 1.0 ? factor * shrink : factor;
}

void DistributedOptimizer::set_backward_passes_per_step(int passes) {
  const int checked = checked_passes(passes);
  if (reducer_.is_pending() || averages_passes_) {
    throw Error(absl::FailedPreconditionError(absl::StrCat(
        "set_backward_passes_per_step(): ",
        averages_passes_
            ? "gradients are divided by the number of passes; make "
              "another optimizer"
            : "gradients are under way; call step() before")));
  }
  passes_per_step_ = checked;
  for (const auto& [name, parameter] : parameters()) {
    reducer_.expect(name, passes_per_step_);
  }
}

nn::StateDict DistributedOptimizer::state_dict() const {
  if (shards_ != nullptr) return sharded_state_dict();
  nn::StateDict state = wrapped_->state_dict();
  if (compressor_ == nullptr) return state;
  for (const auto& [name, values] : compressor_->state()) {
    state.push_back(
        {absl::StrCat(kCompression, name),
         from_vector(values, {static_cast<std::int64_t>(values.size())})});
  }
  return state;
}

void DistributedOptimizer::load_state_dict(const nn::StateDict& state,
                                           const nn::LoadOptions& options) {
  nn::StateDict rest;
  std::vector<compression::RememberedValues> remembered;
  for (const auto& [name, tensor] : state) {
    if (compressor_ == nullptr || !absl::StartsWith(name, kCompression)) {
      rest.push_back({name, tensor});
    } else {
      remembered.push_back({name.substr(std::string(kCompression).size()),
                            tensor.to_vector<float>()});
    }
  }
  wrapped_->load_state_dict(rest, options);
  if (compressor_ != nullptr) compressor_->load_state(remembered);
  reducer_.discard();
  is_synchronized_ = false;
  synchronized_by_caller_ = false;
}

void DistributedOptimizer::zero_grad(bool set_to_none) {
  if (reducer_.is_pending()) {
    throw Error(absl::FailedPreconditionError(
        "optimizer.zero_grad() was called after loss.backward() but before "
        "optimizer.step() or optimizer.synchronize(). This is prohibited as it "
        "can cause a race condition."));
  }
  attach_hooks();
  wrapped_->zero_grad(set_to_none);
}

}  // namespace hvd::optim
