// SPDX-License-Identifier: Apache-2.0
// The work of a DistributedOptimizer between backward and the step, in one
// call.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/reduce_arithmetic.h"
#include "horovodpp/core/status.h"
#include "horovodpp/optim/distributed/distributed_optimizer.h"
#include "horovodpp/optim/distributed/job_parts.h"
#include "horovodpp/optim/gradients.h"

namespace hvd::optim {
namespace {

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
  if (!describe(op).divides) {
    throw InvalidArgument(absl::StrCat(
        "step(): a weight goes with op average, not with op ", name_of(op)));
  }
}

}  // namespace

StepResult DistributedOptimizer::step(const DistributedStepOptions& options) {
  check(options, op());
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

// The parts of gradients along which this rank steps.
std::vector<GradientPart> DistributedOptimizer::parts_to_move() const {
  if (job_->shards == nullptr) return whole(gradients_of(parameters()));
  const std::vector<ElementRange> mine = job_->shards->parts();
  std::vector<GradientPart> parts;
  for (std::size_t i = 0; i < mine.size(); ++i) {
    const Tensor grad = parameters()[i].tensor.grad();
    if (grad.defined()) parts.push_back({grad, mine[i]});
  }
  return parts;
}

// The parts that this rank reads: its share of the gradients that all ranks
// have.
std::vector<GradientPart> DistributedOptimizer::parts_to_look_at() const {
  const int rank = job_->reducer.rank();
  const int ranks = job_->reducer.num_ranks();
  std::vector<GradientPart> parts;
  if (job_->shards == nullptr) {
    for (const Tensor& gradient : gradients_of(parameters())) {
      parts.push_back(share_of(gradient, rank, ranks));
    }
    return parts;
  }
  parts = parts_to_move();
  for (std::size_t i = 0, next = 0; i < parameters().size(); ++i) {
    if (!parameters()[i].tensor.grad().defined()) continue;
    GradientPart& part = parts[next++];
    if (!job_->shards->has(i)) part = share_of(part.gradient, rank, ranks);
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
    // Reduced gradients are the same on all ranks: each rank reads its share.
    found = look_at(is_synchronized_ ? parts_to_look_at() : parts_to_move());
  }
  const std::vector<double> sums = job_->reducer.sum(
      "(step)", {is_synchronized_ ? found.squared_norm : 0.0,
                 found.is_finite ? 0.0 : 1.0, options.weight.value_or(0.0)});
  double factor = scales ? 1.0 / options.grad_scaler->factor() : 1.0;
  if (options.weight) {
    if (!(sums[2] > 0)) {
      throw Error(absl::FailedPreconditionError(
          "the weights of all ranks add up to 0: there is nothing to step "
          "along"));
    }
    factor *= job_->reducer.num_ranks() / sums[2];
  }
  if (!scales && !clips) return factor;
  const double squares = is_synchronized_ ? sums[0] : found.squared_norm;
  result.norm = std::sqrt(squares) * factor;
  if (sums[1] > 0) {
    if (scales) return std::nullopt;
    throw Error(absl::OutOfRangeError(absl::StrCat(
        "the gradients of ", sums[1], " of ", job_->reducer.num_ranks(),
        " shares are not finite, so they cannot be clipped; the parameters "
        "stay as they are")));
  }
  // As in clip_grad_norm_().
  const double shrink = options.max_norm / (*result.norm + 1e-6);
  return clips && shrink < 1.0 ? factor * shrink : factor;
}

}  // namespace hvd::optim
