// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/functional/losses.h"

#include "horovodpp/autograd/record/autocast.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/kernel/loops/rows.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/functional/targets.h"
#include "horovodpp/ops/reduce_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/elementwise.h"

namespace hvd {
namespace autograd {
namespace {

Tensor nll_rows(const Tensor& x, const Tensor& targets,
                const NllOptions& options);
Tensor nll_backward(const Tensor& grad, const Tensor& targets,
                    const Dims& shape, const NllOptions& options);

struct SavesTargets : Node {
  void save(const Tensor& wanted, const NllOptions& opts) {
    targets.save(wanted);
    if (opts.weight.defined()) weight.save(opts.weight);
    options = opts;
    options.weight = Tensor();
  }
  NllOptions unpacked() {
    NllOptions result = options;
    result.weight = weight.unpack(*this);
    return result;
  }
  void release_saved() override {
    targets.release();
    weight.release();
  }
  SavedTensor targets;
  SavedTensor weight;
  NllOptions options;
};

// y_i = -share w x[i, targets[i]], or their sum:  dx = -share w dy at the
// target, else 0
struct NllLossBackward : SavesTargets {
  const char* name() const override { return "NllLossBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    results[0] =
        nll_backward(grads[0], targets.unpack(*this), shape, unpacked());
  }
  Dims shape;
};

// dx = nll_backward(dy), linear in dy:  ddy = nll_loss(ddx)
struct NllLossBackwardBackward : SavesTargets {
  const char* name() const override { return "NllLossBackwardBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    results[0] = nll_rows(grads[0], targets.unpack(*this), unpacked());
  }
};

Tensor nll_backward(const Tensor& grad, const Tensor& targets,
                    const Dims& shape, const NllOptions& options) {
  const Tensor wide = widened(grad.detach()).contiguous();
  Tensor out = zeros(shape, {.dtype = wide.dtype()});
  const Targets read = read_targets(out, targets, options, "nll_loss");
  const double share = read.share(options.reduction);
  const std::size_t step = options.reduction == Reduction::kNone ? 1 : 0;
  visit_floating(wide.dtype(), "nll_loss", [&]<typename T>(TypeTag<T>) {
    const T* from = wide.data<T>();
    T* row = out.data<T>();
    for (std::size_t i = 0; i < read.classes.size(); ++i, row += shape[1]) {
      if (read.ignored[i]) continue;
      row[read.classes[i]] =
          -static_cast<T>(share * read.weights[i]) * from[i * step];
    }
  });
  {
    NoGrad no_grad;
    out = to(out, grad.dtype());
  }
  if (needs_grad(grad)) {
    auto node = make_node<NllLossBackwardBackward>(grad);
    node->save(targets, options);
    set_history(out, std::move(node));
  }
  return out;
}

// The losses of the rows, or their sum, in the dtype of the computation.
Tensor nll_sums(const Tensor& x, const Targets& read,
                const NllOptions& options) {
  const Tensor in = widened(x.detach());
  const bool each = options.reduction == Reduction::kNone;
  Tensor out = empty(each ? Dims({x.size(0)}) : Dims(), {.dtype = in.dtype()});
  visit_floating(in.dtype(), "nll_loss", [&]<typename T>(TypeTag<T>) {
    double total = 0;
    const T* row = in.data<T>();
    for (std::size_t i = 0; i < read.classes.size(); ++i) {
      const T value = row[read.classes[i] * in.strides()[1]];
      // An ignored row counts as 0, even if it is NaN.
      const double loss =
          read.ignored[i] ? 0.0 : -read.weights[i] * static_cast<double>(value);
      total += loss;
      if (each) out.data<T>()[i] = static_cast<T>(loss);
      row += in.strides()[0];
    }
    if (!each) {
      *out.data<T>() = static_cast<T>(total * read.share(options.reduction));
    }
  });
  return out;
}

// x [n, classes], targets [n].
Tensor nll_rows(const Tensor& x, const Tensor& targets,
                const NllOptions& options) {
  check_classes(x, "nll_loss");
  const Targets read = read_targets(x, targets, options, "nll_loss");
  Tensor out = result_of("nll_loss", [&] {
    NoGrad no_grad;
    return to(nll_sums(x, read, options), x.dtype());
  });
  if (needs_grad(x)) {
    auto node = make_node<NllLossBackward>(x);
    node->save(targets, options);
    node->shape = x.shape();
    set_history(out, std::move(node));
  }
  return out;
}

// y = share (x - t)^2, or their sum:  dx = 2 share (x - t) dy,  dt = -dx
struct MseLossBackward : Node {
  const char* name() const override { return "MseLossBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    const Tensor a = x.unpack(*this);
    const Tensor b = target.unpack(*this);
    const Tensor grad = is_grad_enabled()
                            ? mul(mul(sub(a, b), 2.0 * share), grads[0])
                            : fused(a, b, grads[0]);
    if (wants(0)) results[0] = grad;
    if (wants(1)) results[1] = neg(grad);
  }
  void release_saved() override {
    x.release();
    target.release();
  }

  // The gradient of a reduced loss is a factor.
  Tensor fused(const Tensor& a, const Tensor& b, const Tensor& gradient) {
    double factor = 2.0 * share;
    if (gradient.dim() == 0) {
      factor *= to(gradient.detach(), DType::kF64).item<double>();
    }
    const Tensor slope = elementwise<functors::SubScaled>(a, b, name(), factor);
    return gradient.dim() == 0 ? slope : mul(slope, gradient);
  }

  SavedTensor x;
  SavedTensor target;
  double share = 1.0;
};

}  // namespace
}  // namespace autograd

Tensor nll_loss(const Tensor& input, const Tensor& targets,
                const NllOptions& options) {
  return autograd::loss_of_rows(autograd::autocast_wider(input), targets,
                                "nll_loss",
                                [&](const Tensor& x, const Tensor& t) {
                                  return autograd::nll_rows(x, t, options);
                                });
}

Tensor mse_loss(const Tensor& input, const Tensor& wanted,
                Reduction reduction) {
  const Tensor x = autograd::autocast_wider(input);
  const Tensor target = autograd::autocast_wider(wanted);
  autograd::check_defined(x, "mse_loss");
  autograd::check_defined(target, "mse_loss");
  if (x.dtype() !=
      target.dtype()) {  // A number counts as a tensor, as in PyTorch.
    const DType dtype = promote_types(x.dtype(), target.dtype());
    return mse_loss(to(x, dtype), to(target, dtype), reduction);
  }
  double share = 1.0;
  if (reduction == Reduction::kMean) {
    share = 1.0 / static_cast<double>(
                      autograd::broadcast(x.shape(), target.shape(), "mse_loss")
                          .product());
  }
  Tensor out = autograd::result_of("mse_loss", [&] {
    NoGrad no_grad;
    const Tensor difference =
        autograd::elementwise<autograd::functors::Sub>(x, target, "mse_loss");
    if (reduction == Reduction::kNone) return mul(difference, difference);
    return full({}, autograd::sum_of_squares(difference) * share,
                {.dtype = x.dtype()});
  });
  if (autograd::needs_grad(x, target)) {
    auto node = autograd::make_node<autograd::MseLossBackward>(x, target);
    node->x.save(x);
    node->target.save(target);
    node->share = share;
    autograd::set_history(out, std::move(node));
  }
  return out;
}

}  // namespace hvd
