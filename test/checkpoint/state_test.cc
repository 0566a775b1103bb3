// SPDX-License-Identifier: Apache-2.0
// Section 1M of the contract: random numbers, autocast, effects. Only the CPU
// generator exists: the device part of item 187 is not tested.
#include <vector>

#include "horovodpp/autograd/record/autocast.h"
#include "horovodpp/autograd/record/effects.h"
#include "horovodpp/autograd/reentrant_checkpoint.h"
#include "horovodpp/checkpoint/checkpoint.h"
#include "test/autograd/support.h"

namespace hvd {
namespace {

using autograd::CheckpointError;

struct Observed {
  std::vector<double> gradient;
  double after_forward = 0.0;
  double after_backward = 0.0;
  friend bool operator==(const Observed&, const Observed&) = default;
};

template <typename Block>
Observed run_of(Block block) {
  manual_seed(11);
  Tensor x = ones64({20000}, true);
  Tensor y = block(dropout(x, 0.5));
  Observed result;
  const auto draw = [] { return value(randn({}, {.dtype = DType::kF64})); };
  // Moves the generator before backward begins.
  result.after_forward = draw();
  y.sum().backward();
  result.after_backward = draw();
  result.gradient = values(x.grad());
  return result;
}

Tensor drops(const Tensor& x) { return sin(dropout(exp(x), 0.5)); }

// Items 184, 185.
TEST(CheckpointState, RandomNumbersAreThoseOfForward) {
  const Observed plain = run_of(drops);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(run_of([](const Tensor& x) { return checkpoint(drops, x); }),
              plain);
  }
  EXPECT_EQ(run_of([](const Tensor& x) {
              return checkpoint(
                  [](const Tensor& in) {
                    return checkpoint(drops, dropout(in, 0.3));
                  },
                  x);
            }),
            run_of([](const Tensor& x) { return drops(dropout(x, 0.3)); }));
  EXPECT_EQ(run_of([](const Tensor& x) {
              return autograd::checkpoint_reentrant(
                  [](const std::vector<Tensor>& in) {
                    return std::vector<Tensor>{drops(in[0])};
                  },
                  {x})[0];
            }),
            plain);
  for (const CheckpointPolicy policy :
       {CheckpointPolicy::kMustSave, CheckpointPolicy::kMustRecompute}) {
    const CheckpointOptions options{
        .policy = [policy](const CheckpointedOperation&) { return policy; }};
    EXPECT_EQ(
        run_of([&](const Tensor& x) { return checkpoint(drops, x, options); }),
        plain);
  }
}

// Item 191: a residual branch that is dropped for some samples, between
// operations that save tensors.
TEST(CheckpointState, DropsTheSamePaths) {
  const Tensor x = randn64({32, 8}), w = randn64({8, 8});
  std::vector<std::vector<double>> dropped;
  const auto block = [&](const Tensor& in) {
    const Tensor path = drop_path(tanh(matmul(in, w)), 0.5);
    dropped.push_back(values(path.detach()));
    return sin(in + path);
  };
  const auto run = [&](bool checkpointed) {
    manual_seed(7);
    x.set_grad({});
    w.set_grad({});
    dropped.clear();
    Tensor y = x;
    for (int i = 0; i < 3; ++i)
      y = checkpointed ? checkpoint(block, y) : block(y);
    y.sum().backward();
    return std::pair(values(x.grad()), values(w.grad()));
  };
  const auto plain = run(false);
  EXPECT_EQ(dropped.size(), 3u);
  EXPECT_EQ(run(true), plain);
  ASSERT_EQ(dropped.size(), 6u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(dropped[5 - i], dropped[i]);
}

// Item 186.
TEST(CheckpointState, WithoutThemTheMasksDiffer) {
  const Observed plain = run_of(drops);
  const Observed other = run_of([](const Tensor& x) {
    return checkpoint(drops, x, CheckpointOptions{.preserve_rng_state = false});
  });
  EXPECT_EQ(other.after_forward, plain.after_forward);
  EXPECT_NE(other.after_backward, plain.after_backward);
  EXPECT_NE(other.gradient, plain.gradient);
}

// Item 189.
TEST(CheckpointState, AutocastIsThatOfForward) {
  Tensor x = randn({8, 8}, {.requires_grad = true});
  Tensor w = randn({8, 8}, {.requires_grad = true});
  std::vector<DType> seen;
  auto f = [&](const Tensor& in) {
    Tensor y = matmul(in, w);
    seen.push_back(y.dtype());
    return sin(y);
  };
  Tensor y;
  {
    Autocast autocast(DType::kBF16);
    y = checkpoint(f, x, CheckpointOptions{.early_stop = false});
  }
  y.sum().backward();
  EXPECT_EQ(seen, (std::vector<DType>{DType::kBF16, DType::kBF16}));
  seen.clear();
  y = checkpoint(f, x, CheckpointOptions{.early_stop = false});
  {
    Autocast autocast(DType::kBF16);
    y.sum().backward();
    EXPECT_TRUE(autograd::current_autocast().enabled);
  }
  EXPECT_EQ(seen, (std::vector<DType>{DType::kF32, DType::kF32}));
}

// Item 190.
TEST(CheckpointState, ACachedCastDoesNotChangeSavedTensors) {
  for (const bool cached_before : {false, true}) {
    Tensor x = randn({8, 8}, {.requires_grad = true});
    Tensor w = randn({8, 8}, {.requires_grad = true});
    Autocast autocast(DType::kBF16);
    if (cached_before) matmul(x, w);
    auto f = [&](const Tensor& in) {
      return matmul(matmul(in, w), w).to(DType::kF32);
    };
    checkpoint(f, x, CheckpointOptions{.early_stop = false}).sum().backward();
    const auto got = w.grad().to_vector<float>();
    w.set_grad({});
    f(x).sum().backward();
    EXPECT_EQ(got, w.grad().to_vector<float>());
  }
}

TEST(CheckpointEffects, HappenOnceAndReturnTheSame) {
  Tensor x = leaf({1, 2}, {2});
  int calls = 0, told = 0;
  auto f = [&](const Tensor& in) {
    const double factor = run_once([&] { return 2.0 + ++calls; });
    run_once([&] { ++told; });
    return sin(in * factor);
  };
  checkpoint(f, x).sum().backward();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(told, 1);
  EXPECT_EQ(values(x.grad()), values(cos(x.detach() * 3.0) * 3.0));
  calls = told = 0;
  x.set_grad({});
  checkpoint([&](const Tensor& in) { return checkpoint(f, exp(in)); }, x)
      .sum()
      .backward();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(told, 1);
  run_once([&] { ++told; });
  EXPECT_EQ(told, 2);
}

TEST(CheckpointEffects, HappenOnceInReentrantRegions) {
  Tensor x = leaf({1, 2}, {2});
  int calls = 0;
  const auto f = [&](const std::vector<Tensor>& in) {
    const double factor = run_once([&] { return 2.0 + ++calls; });
    return std::vector<Tensor>{sin(in[0] * factor)};
  };
  const auto nested = [&](const std::vector<Tensor>& in) {
    return autograd::checkpoint_reentrant(f, in);
  };
  autograd::checkpoint_reentrant(nested, {x})[0].sum().backward();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(values(x.grad()), values(cos(x.detach() * 3.0) * 3.0));
}

TEST(CheckpointEffects, OthersInTheRecomputationAreAnError) {
  Tensor x = leaf({1, 2}, {2});
  auto more = [](const Tensor& in) {
    if (autograd::is_recomputing()) run_once([] { return 1; });
    return sin(in);
  };
  EXPECT_ERROR(CheckpointError, "more effects",
               checkpoint(more, x).sum().backward());
  auto other = [](const Tensor& in) {
    if (autograd::is_recomputing()) {
      run_once([] { return 1; });
    } else {
      run_once([] { return 1.0; });
    }
    return sin(in);
  };
  EXPECT_ERROR(CheckpointError, "another type",
               checkpoint(other, x).sum().backward());
}

}  // namespace
}  // namespace hvd
