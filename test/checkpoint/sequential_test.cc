// SPDX-License-Identifier: Apache-2.0
// Section 1O of the contract.
#include "horovodpp/checkpoint/sequential.h"

#include "horovodpp/core/error.h"
#include "test/autograd/support.h"

namespace hvd {
namespace {

// Layers that count their runs.
struct Layers {
  explicit Layers(std::size_t count) : runs(count) {
    for (std::size_t i = 0; i < count; ++i) {
      weights.push_back(randn64({4, 4}));
      functions.push_back([this, i](const Tensor& in) {
        ++runs[i];
        return tanh(matmul(in, weights[i]));
      });
    }
  }

  // The gradients of x and the weights; `runs` counts one forward and backward.
  template <typename Run>
  std::vector<std::vector<double>> gradients(Run run) {
    std::fill(runs.begin(), runs.end(), 0);
    x.set_grad({});
    for (Tensor& w : weights) w.set_grad({});
    run().sum().backward();
    std::vector<std::vector<double>> result{values(x.grad())};
    for (Tensor& w : weights) result.push_back(values(w.grad()));
    return result;
  }
  std::vector<std::vector<double>> plain() {
    return gradients([&] {
      Tensor y = x;
      for (const auto& f : functions) y = f(y);
      return y;
    });
  }

  Tensor x = randn64({2, 4});
  std::vector<Tensor> weights;
  std::vector<ChainFunction> functions;
  std::vector<int> runs;
};

// Items 198, 199, 200, 202.
TEST(CheckpointSequential, AllSegmentsButTheLastRunTwice) {
  const auto runs_of = [](std::size_t count, std::int64_t segments) {
    Layers layers(count);
    const auto plain = layers.plain();
    EXPECT_EQ(layers.gradients([&] {
      return checkpoint_sequential(layers.functions, segments, layers.x);
    }),
              plain);
    return layers.runs;
  };
  EXPECT_EQ(runs_of(10, 2), (std::vector<int>{2, 2, 2, 2, 2, 1, 1, 1, 1, 1}));
  EXPECT_EQ(runs_of(10, 3), (std::vector<int>{2, 2, 2, 2, 2, 2, 1, 1, 1, 1}));
  EXPECT_EQ(runs_of(11, 4),
            (std::vector<int>{2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1}));
  EXPECT_EQ(runs_of(5, 1), std::vector<int>(5, 1));
  EXPECT_EQ(runs_of(3, 3), (std::vector<int>{2, 2, 1}));
}

// Item 200.
TEST(CheckpointSequential, RefusesInvalidSegments) {
  Layers layers(4);
  for (const std::int64_t segments : {0, -1, 5}) {
    EXPECT_ERROR(InvalidArgument, "segments of 4 functions",
                 checkpoint_sequential(layers.functions, segments, layers.x));
  }
  EXPECT_ERROR(
      InvalidArgument, "function 1 is empty",
      checkpoint_sequential({layers.functions[0], nullptr}, 1, layers.x));
}

// Item 204: each stage runs as often as the plan says.
TEST(CheckpointSequential, FollowsThePlan) {
  for (const char* text :
       {"0 1 2 3 4 5 6 7", "(0 1 2 3) 4 5 6 7", "(0 1) (2 3) (4 5) 6 7",
        "((0 1) 2 3) (4 (5 6)) 7", "(((0) 1) 2) 3 (4 5) 6 7",
        "(0 (1 (2 (3 (4 (5 6)))))) 7"}) {
    const CheckpointPlan plan = CheckpointPlan::parse(text);
    Layers layers(8);
    const auto plain = layers.plain();
    EXPECT_EQ(layers.gradients([&] {
      return checkpoint_sequential(layers.functions, plan, layers.x);
    }),
              plain)
        << text;
    EXPECT_EQ(layers.runs, plan.forward_runs()) << text;
  }
  Layers layers(3);
  EXPECT_ERROR(InvalidArgument, "a plan of 2 stages for 3 functions",
               checkpoint_sequential(layers.functions,
                                     CheckpointPlan::keep_all(2), layers.x));
}

}  // namespace
}  // namespace hvd
