// SPDX-License-Identifier: Apache-2.0
// Section 1C of the contract: hooks.
#include <memory>

#include "horovodpp/autograd/engine.h"
#include "horovodpp/autograd/graph/node.h"
#include "horovodpp/autograd/record/record.h"
#include "test/autograd/support.h"

namespace hvd {
namespace {

using autograd::HookError;
using autograd::HookHandle;
using testing::Each;
using testing::ElementsAre;

// Item 12.
TEST(TensorHook, IsRefusedWithoutRequiresGrad) {
  Tensor x = constant(1);
  EXPECT_THROW(x.register_hook([](const Tensor&) {}), HookError);
}

// Item 35.
TEST(TensorHook, HandlesAddAndRemove) {
  Tensor x = ones64({5, 5}, true);
  Tensor y = (ones64({5, 5}) * 4.0).set_requires_grad(true);
  int counter = 0;
  Tensor z = x * x + x * 2.0 + x * y + y;
  z.register_hook([&](const Tensor&) { counter += 1; });
  const autograd::BackwardOptions retain{.retain_graph = true};
  z.backward(ones64({5, 5}), retain);
  EXPECT_EQ(counter, 1);
  HookHandle second = z.register_hook([&](const Tensor&) { counter += 2; });
  z.backward(ones64({5, 5}), retain);
  EXPECT_EQ(counter, 4);
  second.remove();
  z.backward(ones64({5, 5}), retain);
  EXPECT_EQ(counter, 5);
  second.remove();  // Harmless.
}

// Item 36.
TEST(TensorHook, MayReplaceTheGradient) {
  Tensor x = ones64({5, 5}, true);
  Tensor y = (ones64({5, 5}) * 4.0).set_requires_grad(true);
  const auto twice = [](const Tensor& g) { return g * 2.0; };
  Tensor z = x * x + x * 2.0 + x * y + y;
  z.register_hook(twice);
  z.backward(ones64({5, 5}));
  EXPECT_THAT(values(y.grad()), Each(4));

  y.set_grad({});
  y.register_hook(twice);
  z = x * x + x * 2.0 + x * y + y;
  z.register_hook(twice);
  z.backward(ones64({5, 5}));
  EXPECT_THAT(values(y.grad()), Each(8));
}

// Item 37.
TEST(TensorHook, MustKeepShapeAndDtype) {
  Tensor x = ones64({2}, true);
  HookHandle handle =
      x.register_hook([](const Tensor&) { return ones64({3}); });
  EXPECT_ERROR(HookError, "shape", (x * 2.0).sum().backward());
  handle.remove();
  x.register_hook([](const Tensor&) { return ones({2}); });
  EXPECT_ERROR(HookError, "dtype", (x * 2.0).sum().backward());
}

struct OrderLog {
  std::vector<int> log;
  void hang_onto(const Tensor& a, const Tensor& b) {
    const auto tensor_hook = [this](int id) {
      return [this, id](const Tensor&) { log.push_back(id); };
    };
    const auto node_hook = [this](std::span<Tensor>) { log.push_back(2); };
    b.grad_fn()->register_pre_hook(node_hook);
    b.register_hook(tensor_hook(1));
    b.grad_fn()->register_pre_hook(node_hook);
    a.register_hook(tensor_hook(1));
    accumulator = b.grad_fn()->next_edges()[0].node;
    accumulator->register_pre_hook(node_hook);
    a.register_hook(tensor_hook(1));
  }
  autograd::Ref<autograd::Node> accumulator;
};

// Item 38.
TEST(Hooks, TensorHooksRunBeforeNodeHooks) {
  Tensor a = leaf(1);
  Tensor b = a * 2.0;
  OrderLog order;
  order.hang_onto(a, b);
  b.backward();
  EXPECT_THAT(order.log, ElementsAre(1, 2, 2, 1, 1, 2));
}

// Item 39.
TEST(Hooks, GradRunsTheTensorHooksOfALeafOnly) {
  Tensor a = leaf(1);
  Tensor b = a * 2.0;
  OrderLog order;
  order.hang_onto(a, b);
  autograd::grad({b}, {a});
  EXPECT_THAT(order.log, ElementsAre(1, 2, 2, 1, 1));
}

// Item 40.
TEST(Hooks, RetainGradSeesTensorHooksButNoNodeHooks) {
  Tensor a = leaf(1);
  Tensor b = a * 1.0;
  std::vector<int> log;
  const auto node_hook = [&](std::span<Tensor> gradients) {
    log.push_back(2);
    gradients[0] = gradients[0] * 2.0;
  };
  b.grad_fn()->register_pre_hook(node_hook);
  b.grad_fn()->register_pre_hook(node_hook);
  b.register_hook([&](const Tensor& g) {
    log.push_back(1);
    return g * 3.0;
  });
  b.backward({}, {.inputs = std::vector{b}});
  EXPECT_THAT(log, ElementsAre(1, 2, 2));
  EXPECT_EQ(value(b.grad()), 3);
}

// Item 41.
TEST(Hooks, RetainGradSeesTensorHooksRegisteredLater) {
  for (int hooks : {1, 2}) {
    Tensor b = leaf(1) * 1.0;
    b.retain_grad();
    for (int i = 0; i < hooks; ++i) {
      b.register_hook([](const Tensor& g) { return g * 2.0; });
    }
    b.backward();
    EXPECT_EQ(value(b.grad()), hooks == 2 ? 4 : 2);
  }
}

// Item 42.
TEST(Hooks, ALeafsHooksRunInTheirOrder) {
  Tensor leaf_tensor = leaf(0);
  auto accumulator = autograd::gradient_edge(leaf_tensor).node;
  accumulator->register_post_hook(
      [&](std::span<Tensor>, std::span<const Tensor>) {
        NoGrad no_grad;
        leaf_tensor.grad().mul_(10.0);
      });
  leaf_tensor.register_post_accumulate_grad_hook(
      [](const Tensor& t) { t.grad().add_(0.5); });
  accumulator->register_pre_hook(
      [](std::span<Tensor> gradients) { gradients[0] = gradients[0] / 5.0; });
  leaf_tensor.register_hook([](const Tensor& g) { return g - 2.0; });
  (leaf_tensor * 1.0).backward();
  EXPECT_NEAR(value(leaf_tensor.grad()), 3.0, 1e-12);
}

// Item 43.
TEST(PostAccumulateHook, BelongsToLeaves) {
  Tensor b = leaf(1) * 2.0;
  EXPECT_ERROR(HookError, "cannot be registered on non-leaf",
               b.register_post_accumulate_grad_hook([](const Tensor&) {}));
  EXPECT_THROW(
      constant(1).register_post_accumulate_grad_hook([](const Tensor&) {}),
      HookError);
}

// Item 44.
TEST(PostAccumulateHook, MayMoveTheParameter) {
  Tensor p = leaf(5);
  p.register_post_accumulate_grad_hook([](const Tensor& t) {
    NoGrad no_grad;
    t.sub_(t.grad());
  });
  p.register_post_accumulate_grad_hook([](const Tensor& t) {
    NoGrad no_grad;
    t.mul_(4.0);
  });
  p.sum().backward();
  EXPECT_EQ(value(p), 16);
}

// Item 53.
TEST(PostAccumulateHook, FiresOnceAfterTheLastContribution) {
  Tensor w = leaf(3);
  std::vector<double> seen;
  HookHandle handle = w.register_post_accumulate_grad_hook(
      [&](const Tensor& t) { seen.push_back(value(t.grad())); });
  (w * w + w * 2.0 + w).backward();
  EXPECT_THAT(seen, ElementsAre(9));
  (w * w).backward();
  EXPECT_THAT(seen, ElementsAre(9, 15));
  handle.remove();
  (w * w).backward();
  EXPECT_EQ(seen.size(), 2u);
}

// Item 118.
TEST(PostAccumulateHook, FiresAsEarlyAsItCan) {
  Tensor w1 = leaf(2), w2 = leaf(3), w3 = leaf(4);
  std::vector<int> order;
  int number = 0;
  for (const Tensor& w : {w1, w2, w3}) {
    w.register_post_accumulate_grad_hook(
        [&order, id = ++number](const Tensor&) { order.push_back(id); });
  }
  Tensor h1 = w1 * 1.5;
  h1.register_hook([&](const Tensor&) { order.push_back(-1); });
  Tensor h2 = h1 * w2;
  h2.register_hook([&](const Tensor&) { order.push_back(-2); });
  (h2 * w3).backward();
  EXPECT_THAT(order, ElementsAre(3, -2, 2, -1, 1));
}

// Item 47.
TEST(Hooks, LiveAsLongAsTheTensorOrTheHandle) {
  auto token = std::make_shared<int>(1);
  std::weak_ptr<int> weak = token;
  Tensor x = leaf(1);
  HookHandle handle = x.register_hook([token](const Tensor&) {});
  token.reset();
  EXPECT_FALSE(weak.expired());
  handle.remove();
  EXPECT_TRUE(weak.expired());

  token = std::make_shared<int>(2);
  weak = token;
  handle = x.register_post_accumulate_grad_hook([token](const Tensor&) {});
  token.reset();
  EXPECT_FALSE(weak.expired());
  x = Tensor();
  EXPECT_TRUE(weak.expired());
  handle.remove();
}

// Item 48.
TEST(Hooks, FireWhereTheEdgesLead) {
  Tensor a = leaf(1);
  Tensor b = a * 2.0;
  Tensor c = b * 2.0;
  std::vector<int> counts(3, 0);
  for (const Tensor& t : {a, b}) {
    t.register_hook([&](const Tensor&) { ++counts[0]; });
    auto node = autograd::gradient_edge(t).node;
    node->register_pre_hook([&](std::span<Tensor>) { ++counts[1]; });
    node->register_post_hook(
        [&](std::span<Tensor>, std::span<const Tensor>) { ++counts[2]; });
  }
  const auto counted = [&](auto run) {
    counts.assign(3, 0);
    run();
    return counts;
  };
  EXPECT_THAT(
      counted([&] { autograd::grad({c}, {b}, {}, {.retain_graph = true}); }),
      ElementsAre(1, 0, 0));
  EXPECT_THAT(counted([&] {
                autograd::grad({c}, {a, b}, {}, {.retain_graph = true});
              }),
              ElementsAre(2, 1, 1));
  EXPECT_THAT(counted([&] { c.backward({}, {.retain_graph = true}); }),
              ElementsAre(2, 2, 2));
  EXPECT_THAT(counted([&] {
                c.backward({}, {.inputs = std::vector{a, b}});
              }),
              ElementsAre(2, 2, 2));
}

// Item 49.
TEST(Hooks, ARemovedHookDoesNotRunAnyMore) {
  Tensor a = leaf(1);
  Tensor b = a * 2.0;
  bool ran = false;
  HookHandle on_a = a.register_hook([&](const Tensor&) { ran = true; });
  b.register_hook([&](const Tensor&) { on_a.remove(); });
  b.backward();
  EXPECT_FALSE(ran);

  HookHandle last;
  b = a * 2.0;
  b.register_hook([&](const Tensor&) { last.remove(); });
  last = b.register_hook([&](const Tensor&) { ran = true; });
  b.backward();
  EXPECT_FALSE(ran);
}

// Item 50.
TEST(Hooks, BelongToTheirVersion) {
  Tensor a = leaf({1, 1}, {2});
  Tensor b = a.clone();
  std::vector<double> first, second;
  b.register_hook([&](const Tensor& g) {
    first = values(g);
    return g * 2.0;
  });
  b.mul_(2.0);
  b.register_hook([&](const Tensor& g) {
    second = values(g);
    return g * 2.0;
  });
  b.sum().backward();
  EXPECT_THAT(second, Each(1));
  EXPECT_THAT(first, Each(4));
  EXPECT_THAT(values(a.grad()), Each(8));
}

// Item 51.
TEST(Hooks, RetainGradFollowsTheLatestVersion) {
  Tensor a = leaf({1, 1}, {2}).clone();
  a.retain_grad();
  a.mul_(2.0);
  a.mul_(2.0);
  a.sum().backward();
  EXPECT_THAT(values(a.grad()), Each(1));

  Tensor base = leaf({1, 1}, {2}).clone();
  base.retain_grad();
  base.view({2}).mul_(2.0);
  base.sum().backward();
  EXPECT_THAT(values(base.grad()), Each(1));
}

// Item 54.
TEST(Callbacks, RunOnceWhenTheirBackwardHasFinished) {
  EXPECT_THROW(autograd::queue_callback([] {}), autograd::AutogradError);
  Tensor x = leaf(2);
  std::vector<int> log;
  Tensor y = x * 2.0;
  y.register_hook([&](const Tensor&) {
    autograd::queue_callback([&] {
      log.push_back(1);
      autograd::queue_callback([&] { log.push_back(2); });
    });
    EnableGrad enable_grad;  // Hooks run in the mode of their backward.
    Tensor inner = leaf(1) * 1.0;
    inner.register_hook([&](const Tensor&) {
      autograd::queue_callback([&] { log.push_back(0); });
    });
    inner.backward();
  });
  x.register_hook([&](const Tensor&) { log.push_back(-1); });
  y.backward();
  EXPECT_THAT(log, ElementsAre(0, -1, 1, 2));
}

// Item 55.
TEST(Hooks, AGradientThatAHookSawIsNotWrittenAgain) {
  Tensor x = leaf({1, 2}, {2});
  Tensor late = x * 3.0;
  Tensor y = x + 1.0;
  // The gradient of y becomes the first contribution to x. The second must not
  // be added into it, although the hook kept only an address.
  const double* memory = nullptr;
  y.register_hook([&](const Tensor& g) { memory = g.data<double>(); });
  std::vector<double> at_the_end;
  late.register_hook([&](const Tensor&) {
    ASSERT_NE(memory, nullptr);
    at_the_end = {memory[0], memory[1]};
  });
  x.register_hook([&](const Tensor& g) { EXPECT_NE(g.raw_data(), memory); });
  (y * 2.0 + late).sum().backward();
  EXPECT_THAT(at_the_end, ElementsAre(2, 2));
  EXPECT_THAT(values(x.grad()), ElementsAre(5, 5));
}

// Item 57.
TEST(Hooks, RetainedGradientsAddUp) {
  Tensor input = leaf({1, 2}, {2});
  Tensor h1 = input * 3.0;
  Tensor out = (h1 * h1).sum();
  h1.retain_grad();
  h1.retain_grad();
  input.retain_grad();
  out.backward({}, {.retain_graph = true});
  const Tensor first = h1.grad();
  EXPECT_THAT(values(first), ElementsAre(6, 12));
  out.backward({}, {.retain_graph = true});
  EXPECT_THAT(values(h1.grad()), ElementsAre(12, 24));
  EXPECT_THAT(values(first), ElementsAre(6, 12));  // A separate tensor.
  input.set_grad({});
  out.backward();
  EXPECT_THAT(values(input.grad()), ElementsAre(18, 36));
}

// Requesting an inner tensor's gradient keeps it, and the gradient flows on.
TEST(Hooks, InputsThatAreNoLeavesRetainTheirGradients) {
  Tensor x = leaf({1, 2}, {2});
  Tensor y = x * 2.0;
  Tensor z = (y * y).sum();
  const autograd::BackwardOptions of_y = {.retain_graph = true,
                                          .inputs = std::vector{y, y}};
  z.backward({}, of_y);
  EXPECT_THAT(values(y.grad()), ElementsAre(4, 8));
  EXPECT_TRUE(y.retains_grad());
  EXPECT_FALSE(x.grad().defined());
  y.set_grad(ones64({2}));
  z.backward({}, of_y);
  EXPECT_THAT(values(y.grad()), ElementsAre(5, 9));
  z.backward();
  EXPECT_THAT(values(y.grad()), ElementsAre(9, 17));
  EXPECT_THAT(values(x.grad()), ElementsAre(8, 16));
}

TEST(BackwardObserver, ReportsReachableLeavesAtTheStart) {
  Tensor used = leaf(1), unused = leaf(2), gone = leaf(3);
  Tensor other_graph = unused * 2.0;
  std::vector<std::string> log;
  HookHandle handle = autograd::add_backward_observer(
      {.on_start =
           [&](const autograd::BackwardPlan& plan) {
             EXPECT_TRUE(plan.reaches(used));
             EXPECT_FALSE(plan.reaches(unused));
             EXPECT_FALSE(plan.reaches(gone));
             EXPECT_EQ(plan.depth(), 0);
             log.push_back("start");
           },
       .on_end =
           [&](const autograd::BackwardPlan& plan) {
             EXPECT_TRUE(plan.reaches(used));
             log.push_back(plan.completed() ? "end" : "failed");
           }});
  used.register_post_accumulate_grad_hook(
      [&](const Tensor&) { log.push_back("leaf"); });
  (used * 2.0).backward();
  EXPECT_THAT(log, ElementsAre("start", "leaf", "end"));

  autograd::grad({used * 2.0}, {used});  // Changes no leaf: not observed.
  EXPECT_EQ(log.size(), 3u);

  log.clear();
  Tensor failing = used * 2.0;
  failing.register_hook(
      [](const Tensor&) { throw std::runtime_error("hook failed"); });
  EXPECT_ERROR(std::runtime_error, "hook failed", failing.backward());
  EXPECT_THAT(log, ElementsAre("start", "failed"));

  handle.remove();
  log.clear();
  (used * 2.0).backward();
  EXPECT_THAT(log, ElementsAre("leaf"));
}

TEST(TensorHooks, OfTheOnlyRootAlwaysRun) {
  Tensor x = leaf(1), other = leaf(2);
  Tensor y = x * 2.0;
  y.retain_grad();
  y.backward(constant(3), {.inputs = std::vector{other}});
  ASSERT_TRUE(y.grad().defined());
  EXPECT_EQ(value(y.grad()), 3);
  EXPECT_FALSE(x.grad().defined());
  autograd::grad({y}, {other}, {constant(4)}, {.allow_unused = true});
  EXPECT_EQ(value(y.grad()), 7);
}

TEST(BackwardObserver, SeesOnlyTheGivenInputs) {
  Tensor x = leaf(1), y = leaf(2);
  bool asked = false;
  HookHandle handle = autograd::add_backward_observer(
      {.on_start = [&](const autograd::BackwardPlan& plan) {
        asked = true;
        EXPECT_TRUE(plan.reaches(x));
        EXPECT_FALSE(plan.reaches(y));
      }});
  (x * y).backward({}, {.inputs = std::vector{x}});
  EXPECT_TRUE(asked);
  handle.remove();
}

}  // namespace
}  // namespace hvd
