// SPDX-License-Identifier: Apache-2.0
// Section 1J of the contract: accumulation of gradients.
#include "horovodpp/autograd/graph/accumulate_grad.h"

#include <string>
#include <vector>

#include "horovodpp/autograd/engine.h"
#include "horovodpp/autograd/graph/error.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops.h"
#include "test/autograd/support.h"

namespace hvd {
namespace {

using autograd::AutogradError;
using autograd::NotDifferentiableError;
using testing::Each;
using testing::ElementsAre;

// Item 130.
TEST(AccumulateGrad, TakesAFreshGradientOver) {
  Tensor x = leaf({1, 2}, {2});
  Tensor y = x * 3.0;
  const void* memory = nullptr;
  x.register_hook([&](const Tensor& g) { memory = g.raw_data(); });
  y.backward(ones64({2}));
  EXPECT_EQ(x.grad().raw_data(), memory);

  // The gradient has another owner.
  Tensor kept;
  Tensor w = leaf({1, 2}, {2});
  w.register_hook([&](const Tensor& g) { kept = g; });
  (w * 3.0).backward(ones64({2}));
  EXPECT_NE(w.grad().raw_data(), kept.raw_data());

  // The gradient repeats one element.
  Tensor v = leaf({1, 2}, {2});
  v.sum().backward();
  EXPECT_TRUE(v.grad().is_contiguous());
}

// Item 130.
TEST(AccumulateGrad, KeepsNoHistoryOfAnotherBackward) {
  // From a conversion to the dtype of the root.
  Tensor x = leaf({1}, {1});
  x.backward(x.to(DType::kF32));
  EXPECT_FALSE(x.grad().requires_grad());

  // From a hook.
  Tensor w = leaf({2}, {1});
  w.register_hook([&](const Tensor& g) {
    EnableGrad scope;
    return g * w;
  });
  (w * 3.0).backward(ones64({1}));
  EXPECT_FALSE(w.grad().requires_grad());
  EXPECT_THAT(values(w.grad()), ElementsAre(6));
}

// Item 131.
TEST(AccumulateGrad, CopiesTheGradientOfTheCaller) {
  Tensor x = leaf({1, 2}, {2});
  Tensor g = constant({3, 4}, {2});
  x.backward(g);
  g.fill_(0);
  EXPECT_THAT(values(x.grad()), ElementsAre(3, 4));
}

// Item 132.
TEST(AccumulateGrad, AddsInPlaceUnlessRecorded) {
  Tensor x = leaf({1, 2}, {2});
  (x * 2.0).backward(ones64({2}));
  Tensor grad = x.grad();
  (x * 3.0).backward(ones64({2}));
  EXPECT_TRUE(x.grad().is_same(grad));
  EXPECT_THAT(values(grad), Each(5));
  (x * 4.0).backward(ones64({2}), {.create_graph = true});
  EXPECT_FALSE(x.grad().is_same(grad));
  EXPECT_THAT(values(x.grad()), Each(9));
}

// Item 133.
TEST(AccumulateGrad, LaysGradientsOutLikeTheParameter) {
  Tensor dense = leaf({1, 2, 3, 4, 5, 6}, {2, 3}).detach().t();
  dense.set_requires_grad(true);
  (dense * 2.0).backward(ones64({3, 2}));
  EXPECT_EQ(dense.grad().strides(), autograd::Dims({1, 3}));

  Tensor gaps = autograd::as_strided(ones64({16}), {2, 2}, {4, 2}, 0).detach();
  gaps.set_requires_grad(true);
  (gaps * 2.0).backward(ones64({2, 2}));
  EXPECT_EQ(gaps.grad().strides(), autograd::Dims({2, 1}));
}

// Item 134.
TEST(AccumulateGrad, ConvertsTheGradientToTheLeafsDtype) {
  Tensor x = ones({2}, {.requires_grad = true});
  x.to(DType::kF64).backward(constant({3, 4}, {2}));
  EXPECT_EQ(x.grad().dtype(), DType::kF32);
  x.backward(constant({1, 1}, {2}));
  EXPECT_THAT(x.grad().to_vector<float>(), ElementsAre(4, 5));
}

// Items 117, 135.
TEST(AccumulateGrad, SumsGradientsDownToTheOperand) {
  Tensor row = leaf({1, 2, 3}, {3}), column = leaf({1, 2}, {2, 1});
  Tensor scalar = leaf(5);
  (row + column + scalar).sum().backward();
  EXPECT_THAT(values(row.grad()), Each(2));
  EXPECT_THAT(values(column.grad()), Each(3));
  EXPECT_EQ(column.grad().shape(), autograd::Dims({2, 1}));
  EXPECT_EQ(value(scalar.grad()), 6);

  Tensor none = ones64({4, 0}, true), some = ones64({4, 1}, true);
  (none + some).sum().backward();
  EXPECT_EQ(none.grad().shape(), autograd::Dims({4, 0}));
  EXPECT_THAT(values(some.grad()), ElementsAre(0, 0, 0, 0));
}

// Item 136.
TEST(AccumulateGrad, TakesGradientsThatRepeatElements) {
  Tensor x = leaf({1, 2, 3, 4}, {2, 2});
  x.matmul(x).backward(ones64({1, 1}).expand({2, 2}));
  EXPECT_THAT(values(x.grad()), ElementsAre(7, 11, 9, 13));
}

// Item 138.
TEST(AccumulateGrad, AddsIntoTheMemoryThatTheGradientWasGiven) {
  Tensor buffer = zeros({10}, {.dtype = DType::kF64});
  Tensor w = leaf({1, 2, 3}, {3});
  w.set_grad(buffer.narrow(0, 4, 3));
  const void* place = w.grad().raw_data();
  for (int step = 0; step < 2; ++step) (w * w).sum().backward();
  EXPECT_EQ(w.grad().raw_data(), place);
  EXPECT_THAT(values(buffer), ElementsAre(0, 0, 0, 0, 4, 8, 12, 0, 0, 0));
}

// A parameter is frozen between forward and backward.
TEST(AccumulateGrad, SkipsALeafFrozenAfterForward) {
  for (const bool detached : {false, true}) {
    Tensor x = leaf({1, 2}, {2}), w = leaf({3, 4}, {2});
    std::vector<std::string> log;
    x.register_hook([&](const Tensor&) { log.push_back("tensor"); });
    x.register_post_accumulate_grad_hook(
        [&](const Tensor&) { log.push_back("post"); });
    autograd::HookHandle observer = autograd::add_backward_observer(
        {.on_start = [&](const autograd::BackwardPlan& plan) {
          log.push_back(plan.reaches(x) ? "reached" : "not reached");
          EXPECT_TRUE(plan.reaches(w));
        }});
    const Tensor loss = (x * w).sum();
    if (detached) {
      x.detach_();
    } else {
      x.set_requires_grad(false);
    }
    loss.backward({}, {.retain_graph = true});
    EXPECT_FALSE(x.grad().defined());
    EXPECT_THAT(values(w.grad()), ElementsAre(1, 2));
    EXPECT_THAT(log, ElementsAre("not reached", "tensor"));
    EXPECT_ERROR(NotDifferentiableError, "does not require grad",
                 autograd::grad({loss}, {x}, {}, {.retain_graph = true}));
    // Once unfrozen, it gets its gradient again.
    x.set_requires_grad(true);
    loss.backward();
    EXPECT_THAT(values(x.grad()), ElementsAre(3, 4));
    EXPECT_THAT(
        log, ElementsAre("not reached", "tensor", "reached", "tensor", "post"));
    observer.remove();
  }
}

TEST(AccumulateGrad, RefusesALeafThatBecameAResult) {
  Tensor x = leaf({1, 2}, {2}), w = leaf({3, 4}, {2});
  const Tensor loss = (x * 2.0).sum();
  x.detach_();
  x.mul_(w);
  EXPECT_ERROR(AutogradError, "moved into the graph interior", loss.backward());
  EXPECT_FALSE(x.grad().defined());
}

// A cycle of a parameter, its gradient and their bases would leak.
TEST(AccumulateGrad, IsNeverInACycle) {
  WeakTensor gone;
  {
    Tensor x = leaf({1, 2}, {2});
    gone = WeakTensor(x);
    EXPECT_ERROR(InvalidArgument, "its own gradient", x.set_grad(x));
    const Tensor view = x.view({2, 1}).view({2});
    EXPECT_ERROR(InvalidArgument, "its own gradient", x.set_grad(view));
    Tensor y = leaf({1, 2}, {2}), z = leaf({1, 2}, {2});
    y.set_grad(view);
    z.set_grad(y);
    EXPECT_ERROR(InvalidArgument, "its own gradient", x.set_grad(z));
    EXPECT_FALSE(x.grad().defined());
    x.set_grad(x.detach());
    EXPECT_EQ(x.grad().raw_data(), x.raw_data());
  }
  EXPECT_FALSE(gone.lock().defined());
}

TEST(AccumulateGrad, IsMadeOnDemandAndFreedWithItsGraph) {
  Tensor x = leaf(1);
  EXPECT_FALSE(autograd::existing_grad_accumulator(x));
  {
    Tensor y = x * 2.0;
    EXPECT_TRUE(autograd::existing_grad_accumulator(x));
  }
  EXPECT_FALSE(autograd::existing_grad_accumulator(x));
}

}  // namespace
}  // namespace hvd
