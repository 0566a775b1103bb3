// SPDX-License-Identifier: Apache-2.0
// Forward and backward recursions over the states of ctc_problem.h, in
// logarithms. `alpha` of a state is the probability of the steps up to now, and
// to be in the state; `beta`, that of the steps from now on. Both include the
// present step. The derivative by the logarithm of a class's probability is
// minus the probability, given the labels, that the class is emitted then.
#include "horovodpp/ops/losses/ctc_loss.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/functional/composed.h"
#include "horovodpp/ops/losses/ctc_problem.h"
#include "horovodpp/ops/losses/loss_frame.h"
#include "horovodpp/ops/reduce_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/elementwise.h"
#include "horovodpp/tensor/factories.h"

namespace hvd {
namespace autograd {
namespace {

constexpr double kImpossible = -std::numeric_limits<double>::infinity();

double log_add(double a, double b) {
  if (a < b) std::swap(a, b);
  return b == kImpossible ? a : a + std::log1p(std::exp(b - a));
}

// One sequence with its log-probabilities: class c at time t.
template <typename T>
struct CtcRows {
  const T* first = nullptr;
  std::int64_t step = 0;

  double at(std::int64_t t, std::int64_t c) const {
    return static_cast<double>(first[t * step + c]);
  }
};

// [steps][states] alpha.
template <typename T>
std::vector<double> alphas(const CtcRows<T>& rows,
                           const CtcSequence& sequence) {
  const std::size_t width = sequence.states.size();
  const auto steps = static_cast<std::size_t>(sequence.steps);
  std::vector<double> result(steps * width, kImpossible);
  for (std::size_t t = 0; t < steps; ++t) {
    double* const now = result.data() + t * width;
    const double* const before = now - width;
    for (std::size_t s = 0; s < width; ++s) {
      double sum = t == 0 && s < 2 ? 0.0 : kImpossible;
      if (t > 0) {
        sum = before[s];
        if (s > 0) sum = log_add(sum, before[s - 1]);
        if (sequence.may_skip_to(s)) sum = log_add(sum, before[s - 2]);
      }
      now[s] = sum + rows.at(static_cast<std::int64_t>(t), sequence.states[s]);
    }
  }
  return result;
}

double loss_of_alphas(const std::vector<double>& alpha,
                      const CtcSequence& sequence) {
  const std::size_t width = sequence.states.size();
  if (sequence.steps == 0) return width == 1 ? 0.0 : -kImpossible;
  const double last = alpha.back();
  return -(width == 1 ? last : log_add(last, alpha[alpha.size() - 2]));
}

// Adds the derivative, times `grad`, to `out`, laid out as the rows.
template <typename T>
void add_derivative(const CtcRows<T>& rows, const CtcSequence& sequence,
                    double grad, T* out) {
  const std::size_t width = sequence.states.size();
  const std::vector<double> alpha = alphas(rows, sequence);
  const double loss = loss_of_alphas(alpha, sequence);
  std::vector<double> beta(width, kImpossible);
  std::vector<double> later(width);
  for (std::int64_t t = sequence.steps - 1; t >= 0; --t) {
    std::swap(beta, later);
    for (std::size_t s = 0; s < width; ++s) {
      double sum =
          t == sequence.steps - 1 && s + 2 >= width ? 0.0 : kImpossible;
      if (t < sequence.steps - 1) {
        sum = later[s];
        if (s + 1 < width) sum = log_add(sum, later[s + 1]);
        if (s + 2 < width && sequence.may_skip_to(s + 2)) {
          sum = log_add(sum, later[s + 2]);
        }
      }
      const std::int64_t c = sequence.states[s];
      const double emitted = rows.at(t, c);
      beta[s] = sum + emitted;
      const double alpha_s = alpha[static_cast<std::size_t>(t) * width + s];
      if (alpha_s == kImpossible || beta[s] == kImpossible) continue;
      const double posterior = std::exp(alpha_s + beta[s] - emitted + loss);
      out[t * rows.step + c] -= static_cast<T>(grad * posterior);
    }
  }
}

template <typename T>
CtcRows<T> rows_of(const Tensor& x, std::size_t n) {
  return {x.data<T>() + static_cast<std::int64_t>(n) * x.size(2),
          x.size(1) * x.size(2)};
}

// dx of x [time, n, classes], contiguous, from the gradient of each loss, [n].
Tensor fused_ctc_backward(const Tensor& x, const Tensor& grad,
                          const CtcSequences& sequences) {
  Tensor out = zeros(x.shape(), {.dtype = x.dtype()});
  const std::vector<double> grads =
      to(grad.detach(), DType::kF64).to_vector<double>();
  visit_floating(x.dtype(), "ctc_loss", [&]<typename T>(TypeTag<T>) {
    for (std::size_t n = 0; n < sequences.size(); ++n) {
      T* const item = out.data<T>() + static_cast<std::int64_t>(n) * x.size(2);
      add_derivative(rows_of<T>(x, n), sequences[n], grads[n], item);
    }
  });
  return out;
}

struct CtcLossBackward : Node {
  const char* name() const override { return "CtcLossBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    const Tensor in = x.unpack(*this);
    if (!is_grad_enabled()) {
      results[0] = fused_ctc_backward(in.contiguous(), grads[0], sequences);
      return;
    }
    results[0] = composed_backward(
        [this](const std::vector<Tensor>& inputs) {
          return std::vector{composed_ctc(inputs[0], sequences)};
        },
        {in}, {wants(0)}, {grads[0]})[0];
  }
  void release_saved() override { x.release(); }

  SavedTensor x;
  CtcSequences sequences;
};

// The loss of each sequence, [n].
Tensor ctc_losses(const Tensor& x, CtcSequences sequences) {
  const Tensor in = x.detach().contiguous();
  Tensor out = empty({x.size(1)}, {.dtype = x.dtype()});
  visit_floating(x.dtype(), "ctc_loss", [&]<typename T>(TypeTag<T>) {
    for (std::size_t n = 0; n < sequences.size(); ++n) {
      const std::vector<double> alpha = alphas(rows_of<T>(in, n), sequences[n]);
      out.data<T>()[n] = static_cast<T>(loss_of_alphas(alpha, sequences[n]));
    }
  });
  if (needs_grad(x)) {
    auto node = make_node<CtcLossBackward>(x);
    node->x.save(x);
    node->sequences = std::move(sequences);
    set_history(out, std::move(node));
  }
  return out;
}

}  // namespace
}  // namespace autograd

Tensor ctc_loss(const Tensor& log_probabilities, const Tensor& targets,
                const std::vector<std::int64_t>& input_lengths,
                const std::vector<std::int64_t>& target_lengths,
                const CtcOptions& options) {
  const autograd::LossFrame frame(log_probabilities, "ctc_loss");
  autograd::check_defined(targets, "ctc_loss");
  const bool single = log_probabilities.dim() == 2;
  if (!single && log_probabilities.dim() != 3) {
    throw InvalidArgument(absl::StrCat(
        "ctc_loss: log-probabilities ", log_probabilities.describe(),
        "; wanted are [time, n, classes] or [time, classes]"));
  }
  Tensor x = frame(log_probabilities);
  if (single) x = unsqueeze(x, 1);
  autograd::CtcSequences sequences = autograd::read_sequences(
      x, targets, input_lengths, target_lengths, options.blank);
  std::vector<double> labels;
  for (const autograd::CtcSequence& sequence : sequences) {
    labels.push_back(
        static_cast<double>(std::max<std::int64_t>(sequence.labels(), 1)));
  }
  Tensor losses = autograd::ctc_losses(x, std::move(sequences));
  if (options.zero_infinity) {
    losses = masked_fill(
        losses, eq(losses.detach(), std::numeric_limits<double>::infinity()),
        0.0);
  }
  if (options.reduction == Reduction::kMean) {
    losses = losses / to(from_vector(labels, losses.shape()), losses.dtype());
  }
  if (single) losses = select(losses, 0, 0);
  return frame.finish(losses, options.reduction);
}

}  // namespace hvd
