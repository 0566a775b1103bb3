// SPDX-License-Identifier: Apache-2.0
// Items 52, 54 and 46 of the contract: hooks on several tensors, callbacks of
// the outermost backward, and an optimizer that runs in hooks.
#include "horovodpp/autograd/multi_grad_hook.h"

#include <atomic>
#include <cmath>
#include <thread>

#include "test/autograd/support.h"

namespace hvd {
namespace {

using autograd::CallbackTime;
using Tensors = std::vector<Tensor>;

// Item 52.
TEST(MultiGradHook, FiresOnceWithTheComputedGradients) {
  Tensor t1 = leaf({1, 1}, {2}), t2 = leaf({2, 2}, {2}), t3 = leaf({3, 3}, {2}),
         t4 = leaf({4, 4}, {2});
  std::vector<Tensors> heard;
  auto handle = autograd::register_multi_grad_hook(
      {t1, t2, t3, t4}, [&](const Tensors& grads) { heard.push_back(grads); });
  int first = 0;
  auto any = autograd::register_any_grad_hook({t1, t2, t3, t4},
                                              [&](const Tensor&) { ++first; });
  const auto run = [&] {
    (t2 * t3).sum().backward({}, {.inputs = std::vector<Tensor>{t2, t3}});
  };
  run();
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(first, 1);
  EXPECT_FALSE(heard[0][0].defined() || heard[0][3].defined());
  EXPECT_EQ(values(heard[0][1]), values(t3));
  EXPECT_EQ(values(heard[0][2]), values(t2));
  run();
  EXPECT_EQ(heard.size(), 2u);
  handle.remove();
  any.remove();
  run();
  EXPECT_EQ(heard.size(), 2u);
  EXPECT_EQ(first, 2);
}

// Item 52.
TEST(MultiGradHook, WatchesInnerTensorsToo) {
  Tensor x = leaf(2);
  Tensor a = x * 3.0, b = exp(x), c = x * x;
  int fired = 0;
  autograd::register_multi_grad_hook({a, b, c}, [&](const Tensors& grads) {
    ++fired;
    EXPECT_TRUE(grads[0].defined());
    EXPECT_TRUE(grads[1].defined());
    EXPECT_FALSE(grads[2].defined());
  });
  c = Tensor();  // Frees its graph.
  (a * b).backward();
  EXPECT_EQ(fired, 1);
}

// Item 52.
TEST(MultiGradHook, FiresOncePerBackwardOfSeveralThreads) {
  Tensor x = leaf(2), y = leaf(3);
  std::atomic<int> all{0}, any{0};
  autograd::register_multi_grad_hook({x, y}, [&](const Tensors&) { ++all; });
  autograd::register_any_grad_hook({x, y}, [&](const Tensor&) { ++any; });
  std::vector<std::thread> threads;
  for (int i = 0; i < 5; ++i) {
    threads.emplace_back([&] { (x * y).backward(); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(all, 5);
  EXPECT_EQ(any, 5);
  EXPECT_EQ(value(x.grad()), 15);
}

// Item 54.
TEST(Callbacks, MayWaitForTheOutermostBackward) {
  Tensor x = leaf(2), inner = leaf(3);
  std::vector<std::string> log;
  x.register_hook([&](const Tensor&) {
    EnableGrad enable_grad;
    inner.register_hook([&](const Tensor&) {
      autograd::queue_callback([&] { log.push_back("inner"); });
      autograd::queue_callback([&] { log.push_back("outermost"); },
                               CallbackTime::kOutermost);
    });
    (inner * 2.0).backward();
    log.push_back("after the inner one");
  });
  (x * x).backward();
  EXPECT_EQ(log, (std::vector<std::string>{"inner", "after the inner one",
                                           "outermost"}));
}

// Adam for one parameter.
struct Adam {
  explicit Adam(const Tensor& parameter)
      : m(zeros_like(parameter)), v(zeros_like(parameter)) {}
  void step(const Tensor& parameter) {
    NoGrad no_grad;
    ++t;
    const Tensor g = parameter.grad();
    m.mul_(0.9).add_(g, 0.1);
    v.mul_(0.999).add_(g * g, 0.001);
    const Tensor mean = m * (1.0 / (1.0 - std::pow(0.9, t)));
    const Tensor deviation = sqrt(v * (1.0 / (1.0 - std::pow(0.999, t))));
    parameter.add_(mean / (deviation + 1e-8), -0.01);
    parameter.set_grad({});
  }
  Tensor m, v;
  int t = 0;
};

Tensors parameters() {
  manual_seed(5);
  return {randn({4, 3}, {.requires_grad = true}),
          randn({2, 4}, {.requires_grad = true})};
}

Tensor loss_of(const Tensors& p, const Tensor& x) {
  return linear(tanh(linear(x, p[0])), p[1]).sum();
}

// Item 46.
TEST(PostAccumulateHook, AnOptimizerInHooksEqualsOneAfterBackward) {
  const Tensors hooked = parameters(), plain = parameters();
  const Tensor x = randn({5, 3});
  std::vector<Adam> plain_adam, hooked_adam;
  for (const Tensor& p : plain) plain_adam.emplace_back(p);
  for (const Tensor& p : hooked) hooked_adam.emplace_back(p);
  std::vector<autograd::HookHandle> handles;
  for (std::size_t i = 0; i < hooked.size(); ++i) {
    handles.push_back(hooked[i].register_post_accumulate_grad_hook(
        [&, i](const Tensor& p) { hooked_adam[i].step(p); }));
  }
  for (int step = 0; step < 5; ++step) {
    loss_of(hooked, x).backward();
    loss_of(plain, x).backward();
    for (std::size_t i = 0; i < plain.size(); ++i) plain_adam[i].step(plain[i]);
  }
  for (std::size_t i = 0; i < plain.size(); ++i) {
    EXPECT_EQ(hooked[i].to_vector<float>(), plain[i].to_vector<float>());
  }
  for (auto& handle : handles) handle.remove();
  loss_of(hooked, x).backward();
  EXPECT_EQ(hooked[0].to_vector<float>(), plain[0].to_vector<float>());
}

}  // namespace
}  // namespace hvd
