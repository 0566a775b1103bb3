// SPDX-License-Identifier: Apache-2.0
// Sections 1A and 1B of the contract: the graph, leaves, and backward().
#include <cmath>

#include "horovodpp/autograd/engine.h"
#include "horovodpp/autograd/graph/node.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/saved/saved_tensor.h"
#include "horovodpp/core/error.h"
#include "test/autograd/support.h"

namespace hvd {
namespace {

using autograd::AutogradError;
using autograd::GraphFreedError;
using autograd::NonScalarError;
using autograd::NotDifferentiableError;
using testing::Each;
using testing::ElementsAre;

// The worked example: l4 = (x w1 + w2) (x w1 w3), loss = mean(l4).
struct WorkedExample {
  Tensor input = ones64({2, 2});
  Tensor w1 = leaf(2), w2 = leaf(3), w3 = leaf(4);
  Tensor l1 = input * w1;
  Tensor l2 = l1 + w2;
  Tensor l3 = l1 * w3;
  Tensor l4 = l2 * l3;
  Tensor loss = l4.mean();
};

// Item 1.
TEST(Graph, AnOperationRecordsItself) {
  Tensor a = leaf(2);
  Tensor b = exp(a);
  EXPECT_NEAR(value(b), 7.3891, 1e-4);
  EXPECT_STREQ(b.grad_fn()->name(), "ExpBackward");
  EXPECT_FALSE(a.grad_fn());
}

// Item 2.
TEST(Graph, TheWorkedExampleHasItsValues) {
  WorkedExample e;
  EXPECT_THAT(values(e.l1), Each(2));
  EXPECT_THAT(values(e.l2), Each(5));
  EXPECT_THAT(values(e.l3), Each(8));
  EXPECT_THAT(values(e.l4), Each(40));
  EXPECT_EQ(value(e.loss), 40);
}

// Item 3.
TEST(Graph, NodesExistBeforeBackwardButNoGradients) {
  WorkedExample e;
  for (const Tensor& t : {e.w1, e.w2, e.w3, e.l1, e.loss}) {
    EXPECT_FALSE(t.grad().defined());
  }
  EXPECT_FALSE(e.w1.grad_fn());
  EXPECT_STREQ(e.l1.grad_fn()->name(), "MulBackward");
  EXPECT_STREQ(e.loss.grad_fn()->name(), "MeanBackward");
}

// Items 4, 5.
TEST(Graph, OnlyLeavesGetGradients) {
  WorkedExample e;
  e.loss.backward();
  EXPECT_EQ(value(e.w1.grad()), 28);
  EXPECT_EQ(value(e.w2.grad()), 8);
  EXPECT_EQ(value(e.w3.grad()), 10);
  EXPECT_EQ(e.w1.grad().dim(), 0);
  EXPECT_FALSE(e.input.grad().defined());
  for (const Tensor& t : {e.l1, e.l2, e.l3, e.l4, e.loss}) {
    EXPECT_FALSE(t.grad().defined());
  }
}

// Item 6.
TEST(Graph, RetainGradKeepsInnerGradients) {
  WorkedExample e;
  for (const Tensor& t : {e.l1, e.l2, e.l3, e.l4, e.loss}) t.retain_grad();
  e.loss.backward();
  EXPECT_EQ(value(e.loss.grad()), 1);
  EXPECT_THAT(values(e.l4.grad()), Each(0.25));
  EXPECT_THAT(values(e.l1.grad()), Each(7));
  EXPECT_THAT(values(e.l2.grad()), Each(2));
  EXPECT_THAT(values(e.l3.grad()), Each(1.25));
}

// Item 7.
TEST(Graph, HooksFireOnceInBackwardOrderWithTheWholeGradient) {
  WorkedExample e;
  std::vector<double> seen;
  for (const Tensor& t : {e.l1, e.l4, e.loss}) {
    t.register_hook([&](const Tensor& g) { seen.push_back(values(g)[0]); });
  }
  e.loss.backward();
  EXPECT_THAT(seen, ElementsAre(1, 0.25, 7));
  EXPECT_FALSE(e.loss.grad().defined());
}

// Items 8, 9.
TEST(Graph, RequiresGradSpreads) {
  Tensor a = leaf(2);
  Tensor b = constant(3);
  EXPECT_TRUE((a + b).requires_grad());
  EXPECT_FALSE((a + b).is_leaf());
  EXPECT_FALSE((b + b).requires_grad());
  EXPECT_TRUE((b + b).is_leaf());
  EXPECT_TRUE(a.is_leaf());
}

// Item 10.
TEST(Graph, IntegersHaveNoGradients) {
  EXPECT_ERROR(InvalidArgument, "floating point",
               zeros({2}, {.dtype = DType::kI64}).set_requires_grad(true));
  EXPECT_FALSE(argmax(leaf({1, 2}, {2})).requires_grad());
}

// Item 11.
TEST(Graph, ANonLeafKeepsRequiringGrad) {
  Tensor z = leaf(2) * leaf(3);
  EXPECT_THROW(z.set_requires_grad(false), AutogradError);
  EXPECT_TRUE(z.set_requires_grad(true).is_same(z));
}

// Item 13.
TEST(Graph, EdgesLeadToTheProducersOfTheInputs) {
  Tensor x = leaf(1), y = leaf(2);
  Tensor a = x + y;
  const auto edges = a.grad_fn()->next_edges();
  ASSERT_EQ(edges.size(), 2u);
  for (const auto& edge : edges) {
    EXPECT_STREQ(edge.node->name(), "AccumulateGrad");
    EXPECT_EQ(edge.input_nr, 0u);
  }
  Tensor b = a + constant(5);
  EXPECT_EQ(b.grad_fn()->next_edges()[0].node, a.grad_fn());
  EXPECT_FALSE(b.grad_fn()->next_edges()[1]);
}

// Item 14.
TEST(Graph, RetainGradKeepsNoTensorAlive) {
  Tensor x = leaf(3);
  Tensor y = x * 2.0;
  y.retain_grad();
  WeakTensor weak(y);
  Tensor z = y / 2.0;
  y = Tensor();
  EXPECT_FALSE(weak.lock().defined());
  z.backward();
  EXPECT_EQ(value(x.grad()), 1);
}

// Item 15.
TEST(Graph, BackwardFreesSavedTensors) {
  ASSERT_EQ(autograd::saved_tensor_bytes(), 0);
  WorkedExample e;
  EXPECT_GT(autograd::saved_tensor_bytes(), 0);
  e.loss.backward();
  EXPECT_EQ(autograd::saved_tensor_bytes(), 0);
}

// Item 16.
TEST(Backward, ASecondBackwardIsRefused) {
  Tensor a = leaf({3, 1}, {2});
  Tensor loss = (a * a).mean();
  loss.backward();
  EXPECT_THAT(values(a.grad()), ElementsAre(3, 1));
  EXPECT_ERROR(GraphFreedError, "second time", loss.backward());
  EXPECT_THAT(values(a.grad()), ElementsAre(3, 1));
}

// Item 16: nodes that would run before the freed node do not run either.
TEST(Backward, ARefusedBackwardAddsNoGradient) {
  Tensor x = leaf({1, 2}, {1, 2});
  Tensor a = leaf({3}, {1, 1}), b = leaf({4, 5}, {1, 2});
  const auto refused = [&](const Tensor& loss) {
    int calls = 0;
    autograd::HookHandle hook =
        x.register_hook([&](const Tensor&) { ++calls; });
    autograd::HookHandle observer = autograd::add_backward_observer(
        {.on_start = [&](const autograd::BackwardPlan&) { ++calls; }});
    EXPECT_ERROR(GraphFreedError, "second time", loss.backward());
    EXPECT_EQ(calls, 0);
    hook.remove();
    observer.remove();
  };
  for (const Tensor& loss : {addmm(x, a, b).sum(), (x + a * b).sum()}) {
    for (Tensor* t : {&x, &a, &b}) t->set_grad(Tensor());
    loss.backward();
    for (int i = 0; i < 2; ++i) {
      refused(loss);
      EXPECT_THAT(values(x.grad()), ElementsAre(1, 1));
      EXPECT_EQ(value(a.grad().sum()), 9);
    }
  }
}

// In a partly freed graph, the rest still runs.
TEST(Backward, AnUnneededFreedNodeIsNoError) {
  Tensor x = leaf(2), w = leaf(3);
  Tensor inner = exp(x);
  Tensor outer = inner * w;
  outer.backward();
  EXPECT_ERROR(GraphFreedError, "MulBackward", outer.backward());
  Tensor again = inner + w;
  EXPECT_ERROR(GraphFreedError, "ExpBackward", again.backward());
  EXPECT_EQ(value(w.grad()), std::exp(2.0));
  EXPECT_ERROR(GraphFreedError, "ExpBackward",
               again.backward({}, {.inputs = std::vector{inner}}));
  EXPECT_FALSE(inner.retains_grad());
  again.backward({}, {.inputs = std::vector{w}});
  EXPECT_EQ(value(w.grad()), std::exp(2.0) + 1);
  EXPECT_EQ(value(autograd::grad({again}, {inner})[0]), 1);
}

// The node saved no tensor, so backward freed none.
TEST(Backward, ANodeWithoutSavedTensorsRunsAgain) {
  const Tensor x = constant({1, 2}, {1, 2}), w = constant({3, 4}, {1, 2});
  Tensor b = leaf({5}, {1});
  Tensor y = linear(x, w, b).sum();
  y.backward();
  y.backward();
  EXPECT_EQ(value(b.grad().sum()), 2);
}

// Item 17.
TEST(Backward, ARetainedGraphRunsAgain) {
  Tensor a = leaf({3, 1}, {2});
  Tensor loss = (a * a).mean();
  loss.backward({}, {.retain_graph = true});
  EXPECT_NO_THROW(loss.backward());
  EXPECT_THAT(values(a.grad()), ElementsAre(6, 2));
}

// Item 18.
TEST(Backward, AGraphWithoutSavedTensorsRunsAgain) {
  Tensor b = leaf(1);
  Tensor c = b + 1.0;
  c.backward();
  c.backward();
  EXPECT_EQ(value(b.grad()), 2);
}

// Items 19, 34.
TEST(Backward, GradientsAddUpUntilForgotten) {
  Tensor a = leaf(3);
  for (int i = 0; i < 5; ++i) (a * a).backward();
  EXPECT_EQ(value(a.grad()), 30);
  a.set_grad(Tensor());
  EXPECT_FALSE(a.grad().defined());
  (a * a).backward();
  EXPECT_EQ(value(a.grad()), 6);
}

// Items 20, 21.
TEST(Backward, TheGradientMustFitTheRoot) {
  Tensor x = leaf({1, 2}, {2});
  EXPECT_ERROR(NonScalarError,
               "grad can be implicitly created only for scalar outputs",
               (x * 2.0).backward());
  EXPECT_ERROR(InvalidArgument, "Mismatch in shape",
               (x * 2.0).backward(ones64({3})));
}

// Items 22, 23.
TEST(Backward, ARootMustRequireGrad) {
  EXPECT_ERROR(NotDifferentiableError, "does not require grad",
               ones64({1}).backward());
  Tensor a = leaf(1);
  Tensor z = a * 2.0;
  Tensor q = constant(1);
  EXPECT_THROW(autograd::backward({z, q}), NotDifferentiableError);
  EXPECT_FALSE(a.grad().defined());
}

// Item 24.
TEST(Backward, ARootGivenTwiceCountsTwice) {
  Tensor a = leaf({1, 2}, {2}), b = leaf({3, 4}, {2});
  Tensor x = a * b;
  Tensor g = constant({1, 10}, {2});
  autograd::backward({x, x}, {g, g});
  EXPECT_THAT(values(a.grad()), ElementsAre(6, 80));
  EXPECT_THAT(values(b.grad()), ElementsAre(2, 40));
}

// Item 25.
TEST(Backward, ARootMayLieBelowAnother) {
  Tensor x = leaf(2);
  Tensor y = x * x;
  Tensor z = y * y * y;
  autograd::backward({y, z}, {constant(5), constant(7)});
  EXPECT_EQ(value(x.grad()), 2 * 2 * 5 + 6 * 32 * 7);
}

// Item 26.
TEST(Backward, RootsShareAGraph) {
  Tensor x = leaf(1), y = leaf(2), q = leaf(3), a = leaf(4), b = leaf(5);
  Tensor q2 = q * 2.0;
  Tensor z = x + y + q2;
  Tensor c = a * b + q2;
  autograd::backward({z, c}, {constant(10), constant(100)});
  EXPECT_EQ(value(q.grad()), 220);
  EXPECT_EQ(value(x.grad()), 10);
  EXPECT_EQ(value(a.grad()), 500);
}

// Item 27.
TEST(Backward, OnlyTheGivenInputsGetGradients) {
  Tensor x = leaf(2), y = leaf(3);
  Tensor z = x * y;
  z.backward({}, {.inputs = std::vector{x}});
  EXPECT_EQ(value(x.grad()), 3);
  EXPECT_FALSE(y.grad().defined());
  EXPECT_ERROR(InvalidArgument, "cannot be empty",
               z.backward({}, {.inputs = std::vector<Tensor>{}}));
}

// Item 28.
TEST(Backward, InputsNeedNotBeLeaves) {
  Tensor x = leaf(2), y = leaf(3), z = leaf(1);
  Tensor xn = x * 1.0;
  Tensor out = xn * xn + y * xn + y * y;
  out.backward({}, {.inputs = std::vector{x, y, xn, z}});
  EXPECT_EQ(value(xn.grad()), 7);
  EXPECT_EQ(value(x.grad()), 7);
  EXPECT_EQ(value(y.grad()), 8);
  EXPECT_FALSE(z.grad().defined());
}

TEST(Backward, AddsEmptyGradients) {
  Tensor x = ones64({3, 1}, true);
  Tensor none = ones64({3, 0}, true);
  Tensor y = x.narrow(1, 0, 0) + none;  // [3, 0]
  (y.sum() + y.mean({0}).sum() + (x.expand({3, 4}).narrow(1, 2, 0)).sum())
      .backward();
  EXPECT_THAT(values(x.grad()), ElementsAre(0, 0, 0));
  EXPECT_EQ(none.grad().shape(), (autograd::Dims{3, 0}));
}

// Item 29.
TEST(Backward, AnUnusedPartHasZeros) {
  Tensor x = leaf({1, 2, 3, 4, 5}, {5});
  Tensor part = x.narrow(0, 2, 1);
  (part * 4.0).sum().backward();
  EXPECT_THAT(values(x.grad()), ElementsAre(0, 0, 4, 0, 0));
  x.set_grad({});
  Tensor element = x.select(0, 1);
  element.backward();
  EXPECT_THAT(values(x.grad()), ElementsAre(0, 1, 0, 0, 0));
}

// A node with a formula from the test.
struct CustomBackward : autograd::Node {
  const char* name() const override { return "CustomBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    results[0] = formula(grads[0]);
  }
  std::function<Tensor(const Tensor&)> formula;
};

Tensor custom(const Tensor& x, std::function<Tensor(const Tensor&)> formula) {
  Tensor y = x.detach().clone();
  auto node = autograd::make_node<CustomBackward>(x);
  node->formula = std::move(formula);
  autograd::set_history(y, node);
  return y;
}

// Item 31.
TEST(Backward, AnUndefinedGradientLeavesTheLeafWithoutAGradient) {
  Tensor x = leaf({1, 2}, {2});
  int fired = 0;
  x.register_hook([&](const Tensor&) { ++fired; });
  (custom(x * 2.0, [](const Tensor&) { return Tensor(); }) * 3.0)
      .sum()
      .backward();
  EXPECT_FALSE(x.grad().defined());
  EXPECT_EQ(fired, 0);
}

// Item 32.
TEST(Backward, AGradientOfTheWrongShapeIsNamed) {
  Tensor x = leaf({1, 2}, {2});
  Tensor y = custom(x, [](const Tensor&) { return ones64({3}); });
  EXPECT_ERROR(AutogradError, "expected shape [2]", y.sum().backward());
  EXPECT_ERROR(AutogradError, "CustomBackward", y.sum().backward());
}

// Item 33.
TEST(Backward, AnExceptionReachesTheCallerAndTheEngineStaysUsable) {
  struct Unusual {
    int code;
  };
  Tensor x = leaf(1);
  Tensor y = custom(x * 2.0, [](const Tensor&) -> Tensor { throw Unusual{7}; });
  try {
    y.backward();
    ADD_FAILURE();
  } catch (const Unusual& unusual) {
    EXPECT_EQ(unusual.code, 7);
  }
  EXPECT_TRUE(is_grad_enabled());
  (x * 3.0).backward();
  EXPECT_EQ(value(x.grad()), 3);
}

}  // namespace
}  // namespace hvd
