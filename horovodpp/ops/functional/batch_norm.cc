// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/functional/norms.h"

#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/graph_state.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/norms/plane_loops.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/functional/norm_nodes.h"
#include "horovodpp/ops/images/images.h"
#include "horovodpp/ops/reduce_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace autograd {
namespace {

ChannelStatistics statistics_of(const std::vector<double>& mean,
                                const std::vector<double>& variance,
                                DType dtype, double eps) {
  std::vector<double> rstd;
  rstd.reserve(variance.size());
  for (double v : variance) rstd.push_back(1.0 / std::sqrt(v + eps));
  const Dims shape{static_cast<std::int64_t>(mean.size())};
  return {to(from_vector(mean, shape), dtype),
          to(from_vector(rstd, shape), dtype)};
}

// x, which is widened and laid out, normalized, scaled and shifted.
Tensor normalized(const Tensor& x, const ChannelStatistics& statistics,
                  const Tensor& weight, const Tensor& bias) {
  const DType dtype = x.dtype();
  const std::int64_t channels = x.size(1);
  const Tensor scale =
      mul(parameter_in(dtype, weight, channels, 1.0), statistics.rstd);
  const Tensor shift = sub(parameter_in(dtype, bias, channels, 0.0),
                           mul(statistics.mean, scale));
  Tensor out = empty_like(x);
  visit_floating(dtype, "batch_norm", [&]<typename T>(TypeTag<T>) {
    scale_channels(channel_size(x), {x.data<T>(), scale.data<T>(),
                                     shift.data<T>(), out.data<T>()});
  });
  return out;
}

void check_batch_norm(const Tensor& x, const std::vector<Tensor>& parameters) {
  check_defined(x, "batch_norm");
  if (!is_floating_point(x.dtype())) {
    throw_bad_dtype(x.dtype(), "batch_norm", "floating point");
  }
  if (x.dim() < 2) {
    throw InvalidArgument(absl::StrCat("batch_norm: ", x.describe(),
                                       " is not [n, channels, ...]"));
  }
  const bool wide = size_of(x.dtype()) >= size_of(DType::kF32);
  for (const Tensor& p : parameters) {
    if (!p.defined()) continue;
    const bool same =
        p.dtype() == x.dtype() || (!wide && p.dtype() == DType::kF32);
    if (same && p.shape() == Dims({x.size(1)})) continue;
    throw InvalidArgument(absl::StrCat(
        "batch_norm: ", p.describe(), " does not go with input ", x.describe(),
        "; wanted is one element for each channel, in its dtype",
        wide ? "" : " or in float32"));
  }
}

void check_running(const Tensor& running) {
  if (!running.defined() || !is_grad_enabled() || !running.requires_grad())
    return;
  throw InvalidArgument(
      absl::StrCat("batch_norm: running statistics have no gradient, but ",
                   running.describe(), " requires one; use a detach()"));
}

// running = (1 - momentum) running + momentum found
void update(const Tensor& running, const std::vector<double>& found,
            double momentum) {
  const Tensor before = to(running.detach(), DType::kF64);
  std::vector<double> after = before.to_vector<double>();
  for (std::size_t i = 0; i < after.size(); ++i) {
    after[i] = (1.0 - momentum) * after[i] + momentum * found[i];
  }
  running.copy_(to(from_vector(after, running.shape()), running.dtype()));
}

struct Running {
  const Tensor& mean;
  const Tensor& variance;
};

ChannelStatistics statistics_while_training(const Tensor& x,
                                            const Running& running,
                                            const BatchNormOptions& options) {
  const ChannelSize size = channel_size(x);
  if (size.count() <= 1) {
    throw InvalidArgument(absl::StrCat(
        "batch_norm: Expected more than 1 value per channel when training, but "
        "the input is ",
        x.describe()));
  }
  std::vector<double> mean(static_cast<std::size_t>(size.channels));
  std::vector<double> variance = mean;
  visit_floating(x.dtype(), "batch_norm", [&]<typename T>(TypeTag<T>) {
    channel_moments(size, x.data<T>(), mean.data(), variance.data());
  });
  ChannelStatistics result =
      statistics_of(mean, variance, x.dtype(), options.eps);
  if (is_recomputing()) return result;
  if (running.mean.defined()) update(running.mean, mean, options.momentum);
  if (running.variance.defined()) {
    const auto rows = static_cast<double>(size.count());
    for (double& v : variance) v *= rows / (rows - 1);
    update(running.variance, variance, options.momentum);
  }
  return result;
}

ChannelStatistics running_statistics(const Running& running, DType dtype,
                                     double eps) {
  report_reads(running.mean, running.variance);
  if (!running.mean.defined() || !running.variance.defined()) {
    throw InvalidArgument(
        "batch_norm: without running_mean and running_var it must be training");
  }
  return statistics_of(
      to(running.mean.detach(), DType::kF64).to_vector<double>(),
      to(running.variance.detach(), DType::kF64).to_vector<double>(), dtype,
      eps);
}

}  // namespace
}  // namespace autograd

Tensor batch_norm(const Tensor& x, const Tensor& running_mean,
                  const Tensor& running_var, const Tensor& weight,
                  const Tensor& bias, const BatchNormOptions& options) {
  autograd::check_batch_norm(x, {running_mean, running_var, weight, bias});
  autograd::check_running(running_mean);
  autograd::check_running(running_var);
  auto [out, mean, rstd] = autograd::result_of("batch_norm", [&] {
    NoGrad no_grad;
    // Laid out once for both passes.
    const Tensor wide =
        autograd::for_channel_loops(autograd::widened(x.detach()));
    const autograd::Running running{running_mean, running_var};
    const autograd::ChannelStatistics statistics =
        options.training
            ? autograd::statistics_while_training(wide, running, options)
            : autograd::running_statistics(running, wide.dtype(), options.eps);
    const Tensor y =
        to(autograd::normalized(wide, statistics, weight, bias), x.dtype());
    return std::array{y, statistics.mean, statistics.rstd};
  });
  const autograd::NormOperands operands{x, weight, bias};
  if (autograd::needs_grad(operands)) {
    auto node = autograd::make_node<autograd::BatchNormBackward>();
    autograd::save_norm(*node, operands, mean, rstd);
    node->eps = options.eps;
    node->training = options.training;
    autograd::set_history(out, std::move(node));
  }
  return out;
}

}  // namespace hvd
