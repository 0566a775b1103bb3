// SPDX-License-Identifier: Apache-2.0
// Sections 1H and 1I of the contract: grad(), higher derivatives, and the order
// and threads of nodes.
#include <array>
#include <atomic>
#include <memory>
#include <thread>

#include "horovodpp/autograd/engine.h"
#include "horovodpp/autograd/graph/accumulate_grad.h"
#include "horovodpp/autograd/graph/node.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/core/error.h"
#include "horovodpp/tensor/gradient_home.h"
#include "test/autograd/support.h"
#include "test/support/no_threads.h"

namespace hvd {
namespace {

using autograd::GraphFreedError;
using autograd::NotDifferentiableError;
using testing::Each;
using testing::ElementsAre;

// Item 107.
TEST(Grad, LeavesGradientsAlone) {
  Tensor x = leaf(2), y = leaf(3);
  Tensor m = x * y;
  Tensor z = m * m;
  const auto g = autograd::grad({z}, {x, m});
  EXPECT_EQ(value(g[0]), 36);
  EXPECT_EQ(value(g[1]), 12);
  EXPECT_FALSE(x.grad().defined());
}

// Item 108.
TEST(Grad, AnUnusedInputIsAnErrorUnlessAllowed) {
  Tensor x = leaf(2), y = leaf({1, 1}, {2});
  EXPECT_ERROR(NotDifferentiableError, "Set allow_unused if",
               autograd::grad({x * 2.0}, {x, y}));
  EXPECT_FALSE(autograd::grad({x * 2.0}, {x, y}, {}, {.allow_unused = true})[1]
                   .defined());
  EXPECT_THAT(values(autograd::grad({x * 2.0}, {x, y}, {},
                                    {.materialize_grads = true})[1]),
              Each(0));
  EXPECT_THROW(autograd::grad({x * 2.0}, {constant(1)}),
               NotDifferentiableError);
}

// Item 109.
TEST(Grad, RunsOnlyNodesOnPathsToTheInputs) {
  Tensor x = leaf(2), y = leaf(3);
  Tensor side = y * 2.0;
  side.register_hook(
      [](const Tensor&) { throw std::runtime_error("must not run"); });
  EXPECT_EQ(value(autograd::grad({x * 5.0 + side}, {x})[0]), 5);
}

// Item 110.
TEST(DoubleBackward, AGradientHasAGradient) {
  Tensor x = leaf({1, 2}, {2}), y = leaf({3, 4}, {2});
  Tensor z = x * x + y * x + y * y;
  z.backward(ones64({2}), {.create_graph = true});
  Tensor gx = x.grad(), gy = y.grad();
  EXPECT_THAT(values(gx), ElementsAre(5, 8));
  EXPECT_THAT(values(gy), ElementsAre(7, 10));
  (gx * 2.0 + gy).backward(ones64({2}));
  EXPECT_THAT(values(x.grad()), ElementsAre(10, 13));
  EXPECT_THAT(values(y.grad()), ElementsAre(11, 14));
  // A gradient with a history that leads to its leaf is a cycle.
  x.set_grad({});
  y.set_grad({});

  z = x * x + y * x + y * y;
  const auto g = autograd::grad({z.sum()}, {x, y}, {}, {.create_graph = true});
  const auto hv = autograd::grad({(g[0] * 2.0 + g[1]).sum()}, {x});
  EXPECT_THAT(values(hv[0]), Each(5));
}

// Item 111.
TEST(DoubleBackward, OfALinearFunctionIsZero) {
  Tensor x = leaf(2), a = leaf(3);
  Tensor y = x * a;
  for (double expected : {3.0, 0.0, 0.0}) {
    y = autograd::grad({y}, {x}, {},
                       {.create_graph = true, .materialize_grads = true})[0];
    EXPECT_EQ(value(y), expected);
    EXPECT_TRUE(y.requires_grad());
  }
  EXPECT_FALSE(autograd::grad({x * a}, {y}, {}, {.materialize_grads = true})[0]
                   .requires_grad());
}

// Item 113.
TEST(Grad, GradientAscentOfANonLeaf) {
  Tensor x0 = leaf({1, 2}, {2}), y = leaf({3, 4}, {2});
  Tensor x = x0 * 1.0;
  for (int step = 0; step < 5; ++step) {
    Tensor z = (x * x + y * x).sum();
    const Tensor g = autograd::grad({z}, {x}, {}, {.create_graph = true})[0];
    EXPECT_THAT(values(g),
                testing::Pointwise(testing::DoubleEq(), values(x * 2.0 + y)));
    x = x + g * 0.05;
  }
  EXPECT_FALSE(x0.grad().defined());
  x.sum().backward();
  EXPECT_TRUE(x0.grad().defined());
}

// Item 114.
TEST(Grad, ABackwardMayBeRunInShards) {
  std::vector<Tensor> leaves, inner, shard_grads;
  Tensor loss = zeros({}, {.dtype = DType::kF64});
  for (int i = 0; i < 10; ++i) {
    Tensor l = zeros({5, 5}, {.dtype = DType::kF64, .requires_grad = true});
    Tensor v = l * static_cast<double>(i) + l * l;
    loss = loss + (v * static_cast<double>(i)).sum();
    leaves.push_back(l);
    inner.push_back(v);
  }
  for (std::size_t i = 0; i < 10; i += 2) {
    for (Tensor& g : autograd::grad({loss}, {inner[i], inner[i + 1]}, {},
                                    {.retain_graph = true})) {
      shard_grads.push_back(g);
    }
  }
  autograd::backward(inner, shard_grads);
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_THAT(values(leaves[i].grad()), Each(static_cast<double>(i * i)));
  }
}

// Items 118, 119.
TEST(Engine, TheNodeRecordedLastRunsFirst) {
  std::vector<std::vector<int>> orders;
  for (int run = 0; run < 100; ++run) {
    Tensor x = leaf(1);
    std::vector<int>& order = orders.emplace_back();
    std::vector<Tensor> parts;
    for (int i = 0; i < 6; ++i) {
      parts.push_back(x * 2.0);
      parts.back().register_hook([&, i](const Tensor&) { order.push_back(i); });
    }
    // The order of the sum differs from the order of creation.
    autograd::backward(
        {parts[3], parts[0], parts[5], parts[1], parts[4], parts[2]});
  }
  EXPECT_THAT(orders[0], ElementsAre(5, 4, 3, 2, 1, 0));
  EXPECT_THAT(orders, Each(orders[0]));
}

// Item 120.
TEST(Engine, SequenceNumbersBelongToTheThread) {
  Tensor x = leaf(1);
  const auto number = [&] { return (x * 2.0).grad_fn()->sequence_nr(); };
  const auto first = number();
  std::thread([&] {
    const auto there = number();
    EXPECT_EQ(number(), there + 1);
  }).join();
  EXPECT_EQ(number(), first + 1);
}

Tensor nested(const Tensor& x, int depth, std::vector<int>* order) {
  Tensor y = x * 1.0;
  y.register_hook([depth, order](const Tensor& g) {
    if (depth > 0) {
      EnableGrad enable_grad;
      Tensor inner = leaf(1);
      nested(inner, depth - 1, order).backward();
      EXPECT_EQ(value(inner.grad()), 1);
    }
    if (order != nullptr) order->push_back(depth);
    return g;
  });
  return y;
}

// Item 122.
TEST(Engine, NestedBackwardHasNoDepthLimit) {
  Tensor x = leaf(1);
  nested(x, 2000, nullptr).backward();
  EXPECT_EQ(value(x.grad()), 1);
}

// Item 122.
TEST(Engine, AnErrorComesUpFromAnyDepth) {
  std::function<void(int)> descend = [&](int depth) {
    EnableGrad enable_grad;
    Tensor y = leaf(1) * 1.0;
    y.register_hook([&descend, depth](const Tensor&) {
      if (depth == 0) throw std::out_of_range("at the bottom");
      descend(depth - 1);
    });
    y.backward();
  };
  EXPECT_ERROR(std::out_of_range, "at the bottom", descend(200));
}

TEST(Engine, SaysThatDeepNestingNeedsAThread) {
  const NoThreads no_threads;
  EXPECT_ERROR(Error, "cannot start the thread that runs a nested backward",
               nested(leaf(1), 2000, nullptr).backward());
}

// Item 123.
TEST(Engine, NestedWorkRunsBeforeTheRest) {
  Tensor x = leaf(1);
  std::vector<int> order;
  Tensor plain = x * 1.0;
  plain.register_hook([&](const Tensor&) { order.push_back(-1); });
  Tensor deep = nested(x, 10, &order);
  (plain + deep).backward();
  EXPECT_EQ(order.size(), 12u);
  EXPECT_EQ(order.back(), -1);
}

// Item 124.
TEST(Engine, A150000NodesDeepGraphIsBuiltRunAndFreed) {
  Tensor x = leaf(1);
  {
    Tensor y = x;
    Tensor before = x;
    for (int i = 0; i < 150000; ++i) {
      Tensor next = i % 2 == 0 ? y * 1.0 : y + before * 0.0;
      before = y;
      y = next;
    }
    y.backward();
  }
  EXPECT_EQ(value(x.grad()), 1);
  Tensor never_run = x;
  for (int i = 0; i < 150000; ++i) never_run = never_run * x;
}

// Ten thousand training steps with all that a step may leave behind: graphs,
// hooks, views, in-place writes, dropped gradients.
TEST(Engine, MemoryDoesNotGrowWithTheSteps) {
  Tensor w = randn({8, 8}, {.requires_grad = true});
  Tensor b = zeros({8}, {.requires_grad = true});
  int heard = 0;
  const auto step = [&] {
    autograd::HookHandle hook = w.register_hook([&](const Tensor&) {
      ++heard;
      return Tensor();
    });
    Tensor y = matmul(ones({4, 8}), w) + b;
    y = y.clone();
    y.select(0, 1).mul_(0.5);
    relu(y).mean().backward();
    hook.remove();
    const NoGrad no_grad;
    for (Tensor* parameter : {&w, &b}) {
      parameter->add_(parameter->grad(), -0.01);
      parameter->set_grad(Tensor());
    }
  };
  autograd::Allocator& allocator = autograd::cpu_allocator();
  for (int i = 0; i < 10; ++i) step();
  const std::int64_t used = allocator.stats().current_bytes;
  allocator.reset_peak();
  step();
  const std::int64_t peak = allocator.stats().peak_bytes;
  for (int i = 0; i < 10'000; ++i) step();
  EXPECT_EQ(allocator.stats().current_bytes, used);
  EXPECT_EQ(allocator.stats().peak_bytes, peak);
  EXPECT_EQ(heard, 10'011);
}

void on_threads(int count, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

// Item 125.
TEST(Threads, BackwardOfGraphsOfTheirOwn) {
  on_threads(10, [](int) {
    Tensor x = ones64({5, 5}, true);
    ((x + 3.0) * (x + 4.0) / 2.0).sum().backward();
    EXPECT_THAT(values(x.grad()), Each(4.5));
  });
}

// Item 125.
TEST(Threads, NoContributionToASharedLeafIsLost) {
  Tensor x = ones64({5, 5}, true);
  std::atomic<int> fired{0};
  x.register_post_accumulate_grad_hook([&](const Tensor&) { ++fired; });
  on_threads(10, [&](int) {
    ((x + 3.0) * (x + 4.0) / 2.0).sum().backward();
    const auto g = autograd::grad({((x + 3.0) * (x + 4.0) / 2.0).sum()}, {x});
    EXPECT_THAT(values(g[0]), Each(4.5));
  });
  EXPECT_THAT(values(x.grad()), Each(45));
  EXPECT_EQ(fired, 10);
}

// A leaf with a gradient home, a result that retains its gradient, and a stale
// view that every thread updates.
TEST(Threads, ShareTheStateOfATensor) {
  Tensor x = ones64({3}, true);
  const auto memory = std::make_shared<std::array<double, 3>>();
  autograd::set_gradient_home(
      x, std::make_shared<autograd::GradientHome>(memory, x.shape(),
                                                  x.strides(), x.dtype()));
  Tensor y = x * 2.0;
  y.retain_grad();
  Tensor whole = x * 3.0;
  const Tensor part = whole.narrow(0, 1, 1);
  whole.mul_(2.0);
  on_threads(5, [&](int i) {
    (y * static_cast<double>(i)).sum().backward({}, {.retain_graph = true});
    EXPECT_TRUE(part.requires_grad());
    (part * part).sum().backward({}, {.retain_graph = true});
  });
  EXPECT_THAT(values(y.grad()), Each(10));
  EXPECT_THAT(values(x.grad()), ElementsAre(20, 20 + 5 * 72, 20));
}

// Items 121, 126.
TEST(Threads, OneGraphRunsInSeveralThreads) {
  Tensor x = ones64({3}, true);
  Tensor loss = (x * x * x).sum();
  on_threads(5, [&](int) { loss.backward({}, {.retain_graph = true}); });
  EXPECT_THAT(values(x.grad()), Each(15));

  std::atomic<int> succeeded{0}, freed{0};
  on_threads(5, [&](int) {
    try {
      loss.backward();
      ++succeeded;
    } catch (const GraphFreedError&) {
      ++freed;
    }
  });
  EXPECT_GE(succeeded, 1);
  EXPECT_EQ(succeeded + freed, 5);
}

// Item 121.
TEST(Threads, BackwardThroughAGraphFromWithinItself) {
  Tensor x = leaf(2);
  Tensor y = x * x * x;
  bool inside = false;
  y.register_hook([&](const Tensor&) {
    if (inside) return;
    inside = true;
    y.backward({}, {.retain_graph = true});
  });
  y.backward();
  EXPECT_EQ(value(x.grad()), 24);
}

// Items 128, 183.
TEST(Threads, NodesRunOnTheThreadThatCallsBackward) {
  Tensor x = leaf(2);
  Tensor y = x * x;
  std::thread::id where;
  y.register_hook([&](const Tensor&) { where = std::this_thread::get_id(); });
  std::thread caller([&] { y.backward(); });
  const auto wanted = caller.get_id();
  caller.join();
  EXPECT_EQ(where, wanted);
  EXPECT_EQ(value(x.grad()), 4);
}

// Item 129.
TEST(Engine, GradientsOfTheCallerAreNotModified) {
  Tensor x = leaf({1, 2}, {2});
  Tensor y = x * 1.0;
  Tensor g = constant({1, 10}, {2});
  autograd::backward({y, y, y * 2.0}, {g, g, g});
  EXPECT_THAT(values(g), ElementsAre(1, 10));
  EXPECT_THAT(values(x.grad()), ElementsAre(4, 40));
}

}  // namespace
}  // namespace hvd
