// SPDX-License-Identifier: Apache-2.0
// Cross entropy of logits. For each row, forward keeps the largest logit m and
// the sum of e^(logit - m). Backward then gets each probability with one e^x.
#include "horovodpp/ops/functional/losses.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/record/autocast.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/loops/rows.h"
#include "horovodpp/kernel/parallel.h"
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

NllOptions nll_options(const CrossEntropyOptions& options) {
  return {.weight = options.weight,
          .ignore_index = options.ignore_index,
          .reduction = options.reduction};
}

// With smoothing s and weights w, the loss of a row with target t is
//   hard (lse - x[t]) + sum_c soft w[c] (lse - x[c]),
// and its derivative by x[c] is
//   (hard + spread) p[c] - soft w[c] - (hard if c = t).
// All coefficients are 0 for an ignored target. The row's share is a separate
// factor.
struct Coefficients {
  double hard;
  double soft;
  double spread;  // soft times the sum of all weights.
};

class Rows {
 public:
  Rows(const Tensor& x, const Tensor& targets,
       const CrossEntropyOptions& options)
      : targets_(
            read_targets(x, targets, nll_options(options), "cross_entropy")),
        smoothing_(options.label_smoothing),
        share_(targets_.share(options.reduction)) {
    for (double weight : targets_.class_weights) weights_ += weight;
  }

  std::size_t size() const { return targets_.classes.size(); }
  bool ignored(std::size_t row) const { return targets_.ignored[row]; }
  bool smooth() const { return smoothing_ != 0.0; }
  std::size_t target(std::size_t row) const {
    return static_cast<std::size_t>(targets_.classes[row]);
  }
  double weight(std::size_t c) const { return targets_.class_weights[c]; }
  double share() const { return share_; }

  // Calls f(row) for each row, on the operation's threads.
  template <typename F>
  void for_each(F f) const {
    const auto classes =
        static_cast<std::int64_t>(targets_.class_weights.size());
    parallel_for({.count = static_cast<std::int64_t>(size()), .cost = classes},
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i) {
                     f(static_cast<std::size_t>(i));
                   }
                 });
  }

  Coefficients coefficients(std::size_t row) const {
    if (ignored(row)) return {};
    const auto classes = static_cast<double>(targets_.class_weights.size());
    const double soft = smoothing_ / classes;
    return {(1.0 - smoothing_) * targets_.weights[row], soft, soft * weights_};
  }

 private:
  const Targets targets_;
  const double smoothing_;
  const double share_;
  double weights_ = 0.0;
};

// The loss of one row, before its share.
template <typename T>
double loss_of(const T* x, double lse, std::size_t row, std::size_t classes,
               const Rows& rows) {
  const Coefficients k = rows.coefficients(row);
  double loss = k.hard * (lse - static_cast<double>(x[rows.target(row)]));
  if (!rows.smooth()) return loss;
  for (std::size_t c = 0; c < classes; ++c) {
    loss += k.soft * rows.weight(c) * (lse - static_cast<double>(x[c]));
  }
  return loss;
}

template <typename T>
void backward_row(const T* x, const T* kept, double grad, std::size_t row,
                  std::size_t classes, const Rows& rows, T* out) {
  const Coefficients k = rows.coefficients(row);
  if (rows.ignored(row)) {
    std::fill_n(out, classes, T(0));
    return;
  }
  grad *= rows.share();
  const double factor =
      grad * (k.hard + k.spread) / static_cast<double>(kept[1]);
  rows::scaled_exp(x, kept[0], static_cast<T>(factor), out, classes);
  out[rows.target(row)] -= static_cast<T>(grad * k.hard);
  if (!rows.smooth()) return;
  for (std::size_t c = 0; c < classes; ++c) {
    out[c] -= static_cast<T>(grad * k.soft * rows.weight(c));
  }
}

// The parts of the derivative that do not depend on x: share (hard + spread)
// per row, [n, 1], and the subtracted term, [n, classes].
struct Constants {
  Tensor factor;
  Tensor subtracted;
};
Constants constants_of(const Tensor& x, const Rows& rows) {
  Constants result{zeros({x.size(0), 1}, {.dtype = DType::kF64}),
                   zeros(x.shape(), {.dtype = DType::kF64})};
  const auto classes = static_cast<std::size_t>(x.size(1));
  double* out = result.subtracted.data<double>();
  for (std::size_t i = 0; i < rows.size(); ++i, out += classes) {
    if (rows.ignored(i)) continue;
    const Coefficients k = rows.coefficients(i);
    result.factor.data<double>()[i] = rows.share() * (k.hard + k.spread);
    for (std::size_t c = 0; c < classes; ++c) {
      out[c] = rows.share() * k.soft * rows.weight(c);
    }
    out[rows.target(i)] += rows.share() * k.hard;
  }
  return {to(result.factor, x.dtype()), to(result.subtracted, x.dtype())};
}

struct CrossEntropyBackward : Node {
  const char* name() const override { return "CrossEntropyBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    const Tensor x = logits.unpack(*this);
    CrossEntropyOptions unpacked = options;
    unpacked.weight = weight.unpack(*this);
    const Rows rows(x, targets.unpack(*this), unpacked);
    if (is_grad_enabled()) {
      const auto [factor, subtracted] = constants_of(x, rows);
      const Tensor grad =
          grads[0].dim() == 0 ? grads[0] : unsqueeze(grads[0], 1);
      results[0] = (softmax(x, 1) * factor - subtracted) * grad;
    } else {
      results[0] = fused(x, grads[0], rows);
    }
  }
  void release_saved() override {
    logits.release();
    targets.release();
    weight.release();
    sums.release();
  }

  Tensor fused(const Tensor& x, const Tensor& gradient, const Rows& rows) {
    const Tensor in = widened(x.detach()).contiguous();
    const Tensor grad = to(gradient.detach(), in.dtype()).contiguous();
    const std::size_t step = grad.dim() == 0 ? 0 : 1;
    const Tensor kept = sums.unpack(*this);
    const auto classes = static_cast<std::size_t>(x.size(1));
    Tensor out = empty_like(in);
    visit_floating(in.dtype(), name(), [&]<typename T>(TypeTag<T>) {
      rows.for_each([&](std::size_t i) {
        backward_row(in.data<T>() + i * classes, kept.data<T>() + 2 * i,
                     static_cast<double>(grad.data<T>()[i * step]), i, classes,
                     rows, out.data<T>() + i * classes);
      });
    });
    return to(out, x.dtype());
  }

  SavedTensor logits;
  SavedTensor targets;
  SavedTensor weight;
  SavedTensor sums;  // m and the sum of each row.
  CrossEntropyOptions options;
};

struct CrossEntropyForward {
  Tensor loss;
  Tensor sums;
};

CrossEntropyForward forward(const Tensor& x, const Rows& rows,
                            Reduction reduction) {
  NoGrad no_grad;
  const Tensor in = widened(x.detach()).contiguous();
  const bool each = reduction == Reduction::kNone;
  const auto classes = static_cast<std::size_t>(x.size(1));
  CrossEntropyForward result{
      empty(each ? Dims({x.size(0)}) : Dims(), {.dtype = in.dtype()}),
      empty({x.size(0), 2}, {.dtype = in.dtype()})};
  visit_floating(in.dtype(), "cross_entropy", [&]<typename T>(TypeTag<T>) {
    std::vector<double> losses(rows.size());
    rows.for_each([&](std::size_t i) {
      const T* row = in.data<T>() + i * classes;
      const T largest = rows::max(row, classes);
      const double total_exp = rows::exp_sum(row, largest, classes);
      const double lse = static_cast<double>(largest) + std::log(total_exp);
      result.sums.data<T>()[2 * i] = largest;
      result.sums.data<T>()[2 * i + 1] = static_cast<T>(total_exp);
      losses[i] = rows.ignored(i) ? 0.0 : loss_of(row, lse, i, classes, rows);
      if (each) result.loss.data<T>()[i] = static_cast<T>(losses[i]);
    });
    // In order, for any number of threads.
    double total = 0;
    for (const double loss : losses) total += loss;
    if (!each) *result.loss.data<T>() = static_cast<T>(total * rows.share());
  });
  result.loss = to(result.loss, x.dtype());
  return result;
}

Tensor cross_entropy_rows(const Tensor& x, const Tensor& targets,
                          const CrossEntropyOptions& options) {
  const Rows rows(x, targets, options);
  check_classes(x, "cross_entropy");
  auto [loss, sums] = result_of("cross_entropy", [&] {
    CrossEntropyForward result = forward(x, rows, options.reduction);
    return std::array{result.loss, result.sums};
  });
  if (needs_grad(x)) {
    auto node = make_node<CrossEntropyBackward>(x);
    node->logits.save(x);
    node->targets.save(targets);
    if (options.weight.defined()) node->weight.save(options.weight);
    node->sums.save(sums);
    node->options = options;
    node->options.weight = Tensor();
    set_history(loss, std::move(node));
  }
  return loss;
}

}  // namespace
}  // namespace autograd

Tensor cross_entropy(const Tensor& logits, const Tensor& targets,
                     const CrossEntropyOptions& options) {
  if (!(options.label_smoothing >= 0.0 && options.label_smoothing <= 1.0)) {
    throw InvalidArgument(absl::StrCat("cross_entropy: label_smoothing is ",
                                       options.label_smoothing,
                                       "; wanted is 0 to 1"));
  }
  const Tensor x = autograd::autocast_wider(logits);
  if (targets.defined() && is_floating_point(targets.dtype())) {
    return autograd::soft_cross_entropy(x, targets, options);
  }
  return autograd::loss_of_rows(
      x, targets, "cross_entropy", [&](const Tensor& rows, const Tensor& t) {
        return autograd::cross_entropy_rows(rows, t, options);
      });
}

}  // namespace hvd
