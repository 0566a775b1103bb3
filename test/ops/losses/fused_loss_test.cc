// SPDX-License-Identifier: Apache-2.0
// Losses without gradients of targets take one pass; the others are composed.
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "horovodpp/autograd/gradcheck.h"
#include "horovodpp/core/thread/threads.h"
#include "horovodpp/ops.h"
#include "horovodpp/ops/losses/elementwise_losses.h"
#include "test/autograd/near.h"
#include "test/autograd/support.h"

namespace hvd {
namespace {

using autograd::Dims;
using Loss = std::function<Tensor(const Tensor&, const Tensor&, Reduction)>;

const std::map<std::string, Loss> kLosses = {
    {"l1", [](auto& x, auto& t, Reduction r) { return l1_loss(x, t, r); }},
    {"huber",
     [](auto& x, auto& t, Reduction r) {
       return huber_loss(x, t, {.delta = 0.7, .reduction = r});
     }},
    {"smooth_l1",
     [](auto& x, auto& t, Reduction r) {
       return smooth_l1_loss(x, t, {.beta = 0.4, .reduction = r});
     }},
    {"bce_with_logits",
     [](auto& x, auto& t, Reduction r) {
       return binary_cross_entropy_with_logits(x, t, {.reduction = r});
     }},
    {"kl_div", [](auto& x, auto& t, Reduction r) {
       return kl_div(x, t, {.reduction = r});
     }}};

// The loss and the gradient of x. Targets that require grad select the
// composition.
std::vector<Tensor> results_of(const Loss& loss, const Tensor& x,
                               const Tensor& target, Reduction reduction,
                               bool composed) {
  const Tensor leaf = x.detach().set_requires_grad(true);
  const Tensor wanted =
      composed ? target.detach().set_requires_grad(true) : target;
  const Tensor y = loss(leaf, wanted, reduction);
  y.backward(y.dim() == 0 ? full({}, 1.5, {.dtype = y.dtype()})
                          : cos(y.detach()));
  return {y.detach(), leaf.grad()};
}

TEST(FusedLoss, EqualsItsComposition) {
  for (const auto& [name, loss] : kLosses) {
    for (const Dims& shape : {Dims{}, Dims{1}, Dims{7}, Dims{3, 33}, Dims{4097},
                              Dims{3, 50, 140}}) {
      for (const DType dtype : {DType::kF32, DType::kF64}) {
        SCOPED_TRACE(name + shape.to_string());
        const double tolerance = dtype == DType::kF64 ? 1e-12 : 2e-6;
        const Tensor x = to(randn(shape) * 3.0, dtype);
        // Some are 0 and 1.
        const Tensor target =
            to(clamp(rand(shape) * 2.0 - 0.5, 0.0, 1.0), dtype);
        for (const Reduction reduction :
             {Reduction::kNone, Reduction::kMean, Reduction::kSum}) {
          const auto found = results_of(loss, x, target, reduction, false);
          const auto wanted = results_of(loss, x, target, reduction, true);
          for (std::size_t i = 0; i < 2; ++i) {
            EXPECT_EQ(found[i].dtype(), wanted[i].dtype());
            EXPECT_EQ(found[i].shape(), wanted[i].shape());
            expect_near(found[i], wanted[i], tolerance);
          }
        }
      }
    }
  }
}

TEST(FusedLoss, TakesOperandsThatLieAnyhowAndNothing) {
  for (const auto& [name, loss] : kLosses) {
    SCOPED_TRACE(name);
    const Tensor x = randn({9, 70}), target = rand({70, 9});
    const Tensor turned = transpose(target, 0, 1);
    const auto found = results_of(loss, x, turned, Reduction::kNone, false);
    const auto wanted =
        results_of(loss, x, turned.clone(), Reduction::kNone, false);
    expect_near(found[0], wanted[0], 0.0);
    expect_near(found[1], wanted[1], 0.0);
    const Tensor none = zeros({0, 3});
    EXPECT_EQ(loss(none, none, Reduction::kSum).item<float>(), 0.0F);
    EXPECT_TRUE(std::isnan(loss(none, none, Reduction::kMean).item<float>()));
    EXPECT_EQ(loss(none, none, Reduction::kNone).shape(), none.shape());
  }
}

TEST(FusedLoss, HasItsSecondDerivatives) {
  for (const auto& [name, loss] : kLosses) {
    SCOPED_TRACE(name);
    const Tensor target = to(rand({11}), DType::kF64);
    for (const Reduction reduction : {Reduction::kNone, Reduction::kMean}) {
      const auto run = [&, &f = loss](const std::vector<Tensor>& v) {
        return std::vector{f(v[0], target, reduction)};
      };
      const Tensor x =
          to(randn({11}) * 2.0, DType::kF64).set_requires_grad(true);
      autograd::gradcheck(run, {x});
      autograd::gradgradcheck(run, {x});
    }
  }
}

TEST(FusedLoss, SumsTheSameBitsOnAnyNumberOfThreads) {
  const Tensor x = randn({333, 515}), target = rand({333, 515});
  for (const auto& [name, loss] : kLosses) {
    SCOPED_TRACE(name);
    set_num_threads(1);
    const auto one = results_of(loss, x, target, Reduction::kMean, false);
    set_num_threads(3);
    const auto three = results_of(loss, x, target, Reduction::kMean, false);
    expect_near(three[0], one[0], 0.0);
    expect_near(three[1], one[1], 0.0);
  }
}

TEST(FusedLoss, KeepsNanAndSmallLosses) {
  const Tensor target = ones({2});
  for (const auto& [name, loss] : kLosses) {
    const auto y =
        loss(from_vector<float>({NAN, 0.5F}, {2}), target, Reduction::kNone)
            .to_vector<float>();
    EXPECT_TRUE(std::isnan(y[0])) << name;
    EXPECT_FALSE(std::isnan(y[1])) << name;
  }
  // ln(1 + e^-20) is less than a rounding of 1.
  const Tensor sure = full({17}, 20.0);
  for (const float y : binary_cross_entropy_with_logits(
                           sure, ones({17}), {.reduction = Reduction::kNone})
                           .to_vector<float>()) {
    EXPECT_NEAR(y, std::exp(-20.0), 1e-14);
  }
}

}  // namespace
}  // namespace hvd
