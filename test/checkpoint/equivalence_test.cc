// SPDX-License-Identifier: Apache-2.0
// Operations whose gradients once differed in a checkpointed region;
// test/differential/checkpoints.py searches for others.
#include <vector>

#include "horovodpp/checkpoint/checkpoint.h"
#include "horovodpp/checkpoint/planned_chain.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops/attention/attention.h"
#include "test/autograd/support.h"

namespace hvd {
namespace {

// The gradients of function(inputs), with or without a region.
template <typename Function>
std::vector<std::vector<double>> gradients_of(Function function,
                                              std::vector<Tensor> inputs,
                                              bool as_region) {
  for (Tensor& x : inputs) x = x.detach().set_requires_grad(true);
  const CheckpointOptions options{.determinism_check =
                                      DeterminismCheck::kChecksum};
  const Tensor y =
      as_region ? checkpoint(function, inputs, options) : function(inputs);
  y.sum().backward();
  std::vector<std::vector<double>> result;
  for (const Tensor& x : inputs) result.push_back(values(x.grad()));
  return result;
}

template <typename Function>
void expect_equal(Function function, const std::vector<Tensor>& inputs) {
  EXPECT_EQ(gradients_of(function, inputs, true),
            gradients_of(function, inputs, false));
}

// Each node may unpack a saved tensor once per backward.
TEST(Equivalence, OfAQuotient) {
  expect_equal([](const std::vector<Tensor>& x) { return x[0] / x[1]; },
               {constant({1, 2}, {2}), constant({3, 4}, {2})});
  expect_equal([](const std::vector<Tensor>& x) { return 1.0 / x[0]; },
               {constant({1, 2}, {2})});
}

// Kept tensors have no uninitialized elements.
TEST(Equivalence, OfAnAttentionThatSeesNotAllKeys) {
  const auto attend = [](const std::vector<Tensor>& x) {
    return scaled_dot_product_attention(x[0], x[1], x[2], {.is_causal = true});
  };
  for (int i = 0; i < 10; ++i) {
    // Reuses memory.
    const Tensor other = full({2, 40}, i, {.dtype = DType::kF64});
    expect_equal(attend, {randn64({1, 3}), randn64({40, 3}), randn64({40, 2})});
  }
}

TEST(Equivalence, MeasuringAChainKeepsTheGraphsOfCapturedTensors) {
  const Tensor w = leaf({1, 2}, {2});
  const Tensor captured = sin(w);  // Saves w.
  PlannedChain chain({[&](const Tensor& x) { return x * captured; },
                      [](const Tensor& x) { return exp(x); }});
  checkpoint_sequential(chain, {.fraction = 1.0}, leaf({3, 4}, {2}))
      .sum()
      .backward({}, {.retain_graph = true});
  EXPECT_NO_THROW(captured.sum().backward());
}

TEST(Equivalence, AChainWithAnUndefinedResultIsRefused) {
  PlannedChain chain({[](const Tensor&) { return Tensor(); }});
  EXPECT_ERROR(InvalidArgument, "undefined",
               chain.plan_for(leaf({3, 4}, {2}), {.fraction = 1.0}));
}

}  // namespace
}  // namespace hvd
