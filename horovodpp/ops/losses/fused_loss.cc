// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/losses/fused_loss.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "horovodpp/autograd/record/autocast.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/kernel/loops/rows.h"
#include "horovodpp/kernel/parallel.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/ops/functional/composed.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::autograd {
namespace {

constexpr std::int64_t kLossBlock = 4096;

// Calls f(first element, elements, number of the block) for blocks of n
// elements, on the operation's threads.
template <typename F>
void for_each_block(std::int64_t n, F f) {
  const std::int64_t blocks = (n + kLossBlock - 1) / kLossBlock;
  parallel_for({.count = blocks, .cost = kLossBlock},
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   const std::int64_t at = i * kLossBlock;
                   f(at, static_cast<std::size_t>(std::min(kLossBlock, n - at)),
                     static_cast<std::size_t>(i));
                 }
               });
}

// The factor of each loss in the result.
double factor_of_each(const FusedLoss& loss, std::int64_t n) {
  return loss.reduction == Reduction::kMean
             ? loss.factor / static_cast<double>(n)
             : loss.factor;
}

template <typename T>
Tensor losses_of_elements(const Tensor& x, const Tensor& target,
                          const FusedLoss& loss) {
  const Tensor out = empty(x.shape(), {.dtype = x.dtype()});
  T* to = out.data<T>();
  for_each_block(x.num_elements(), [&](auto at, std::size_t n, std::size_t) {
    losses_of(loss.formula, x.data<T>() + at, target.data<T>() + at,
              static_cast<T>(loss.c), to + at, n);
    if (loss.factor == 1.0) return;
    rows::apply<functors::MulScalar>(to + at, nullptr,
                                     static_cast<T>(loss.factor), to + at, n);
  });
  return out;
}

template <typename T>
Tensor sum_of_losses(const Tensor& x, const Tensor& target,
                     const FusedLoss& loss) {
  const std::int64_t n = x.num_elements();
  std::vector<double> sums(
      static_cast<std::size_t>((n + kLossBlock - 1) / kLossBlock));
  for_each_block(n, [&](auto at, std::size_t count, std::size_t block) {
    T losses[kLossBlock];
    losses_of(loss.formula, x.data<T>() + at, target.data<T>() + at,
              static_cast<T>(loss.c), losses, count);
    sums[block] = rows::sum(losses, count);
  });
  double total = 0;
  for (const double sum : sums) total += sum;
  return full({}, total * factor_of_each(loss, n), {.dtype = x.dtype()});
}

struct FusedLossBackward : Node {
  const char* name() const override { return "ElementwiseLossBackward"; }

  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    const Tensor in = x.unpack(*this);
    const Tensor wanted = target.unpack(*this);
    if (is_grad_enabled()) {
      results[0] = composed_backward(
          [&](const std::vector<Tensor>& inputs) {
            return std::vector{composed(inputs[0], wanted)};
          },
          {in}, {true}, {grads[0]})[0];
      return;
    }
    visit_floating(in.dtype(), name(), [&]<typename T>(TypeTag<T>) {
      results[0] =
          slopes<T>(in.detach().contiguous(), wanted.detach().contiguous(),
                    grads[0].contiguous());
    });
  }

  template <typename T>
  Tensor slopes(const Tensor& in, const Tensor& wanted, const Tensor& grad) {
    const Tensor out = empty(in.shape(), {.dtype = in.dtype()});
    const bool each = loss.reduction == Reduction::kNone;
    const double share = factor_of_each(loss, in.num_elements());
    const T* g = grad.data<T>();
    T* to = out.data<T>();
    for_each_block(in.num_elements(), [&](auto at, std::size_t n, std::size_t) {
      slopes_of(loss.formula, in.data<T>() + at, wanted.data<T>() + at,
                static_cast<T>(loss.c), to + at, n);
      if (each) {
        rows::apply<functors::Mul>(to + at, g + at, T(0), to + at, n);
      }
      const double factor = each ? share : share * static_cast<double>(*g);
      rows::apply<functors::MulScalar>(to + at, nullptr, static_cast<T>(factor),
                                       to + at, n);
    });
    return out;
  }

  void release_saved() override {
    x.release();
    target.release();
  }

  SavedTensor x;
  SavedTensor target;
  FusedLoss loss{};
  std::function<Tensor(const Tensor&, const Tensor&)> composed;
};

}  // namespace

bool can_fuse(const Tensor& x, const Tensor& target) {
  if (!x.defined() || !target.defined() || is_autocast_active()) return false;
  return (x.dtype() == DType::kF32 || x.dtype() == DType::kF64) &&
         target.dtype() == x.dtype() && target.shape() == x.shape() &&
         !needs_grad(target);
}

Tensor fused_loss(
    const Tensor& x, const Tensor& target, const FusedLoss& loss,
    std::function<Tensor(const Tensor&, const Tensor&)> composed) {
  Tensor out = result_of("elementwise_loss", [&] {
    NoGrad no_grad;
    const Tensor in = x.detach().contiguous();
    const Tensor wanted = target.detach().contiguous();
    Tensor made;
    visit_floating(in.dtype(), "elementwise_loss", [&]<typename T>(TypeTag<T>) {
      made = loss.reduction == Reduction::kNone
                 ? losses_of_elements<T>(in, wanted, loss)
                 : sum_of_losses<T>(in, wanted, loss);
    });
    return made;
  });
  if (needs_grad(x)) {
    auto node = make_node<FusedLossBackward>(x);
    node->x.save(x);
    node->target.save(target);
    node->loss = loss;
    node->composed = std::move(composed);
    set_history(out, std::move(node));
  }
  return out;
}

}  // namespace hvd::autograd
