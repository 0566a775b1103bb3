// SPDX-License-Identifier: Apache-2.0
// Collectives in recomputed functions. Item 220. Only rank 0 checkpoints: a
// recomputation that communicated would hang, because the others do not
// recompute.
#pragma once

#include <functional>
#include <vector>

#include "horovodpp/autograd/reentrant_checkpoint.h"
#include "horovodpp/checkpoint/checkpoint.h"
#include "test/distributed/suite_support.h"

namespace hvd::suite {

using Block = std::function<Tensor(const Tensor&)>;

// Runs `block` in the given way.
enum class Recomputed { kNot, kOnce, kNested, kReentrant };
inline Tensor run_block(const Block& block, const Tensor& x, Recomputed how) {
  switch (how) {
    case Recomputed::kNot:
      return block(x);
    case Recomputed::kOnce:
      return checkpoint(block, x, CheckpointOptions{.early_stop = false});
    case Recomputed::kNested:
      return checkpoint([&](const Tensor& in) { return checkpoint(block, in); },
                        x);
    case Recomputed::kReentrant:
      break;
  }
  return autograd::checkpoint_reentrant(
      [block](const std::vector<Tensor>& in) {
        return std::vector<Tensor>{block(in[0])};
      },
      {x})[0];
}

// The results and gradients of `block` are the same however rank 0 runs it.
inline void expect_the_same(const Block& block) {
  const auto run = [&](Recomputed how) {
    const Tensor x = rows_of(rank(), 2, true);
    const Tensor y =
        run_block(block, x / 100.0, rank() == 0 ? how : Recomputed::kNot);
    y.sum().backward();
    Numbers all = values(y.detach());
    const Numbers gradient = values(x.grad());
    all.insert(all.end(), gradient.begin(), gradient.end());
    return all;
  };
  const Numbers plain = run(Recomputed::kNot);
  EXPECT_EQ(run(Recomputed::kOnce), plain);
  EXPECT_EQ(run(Recomputed::kNested), plain);
  EXPECT_EQ(run(Recomputed::kReentrant), plain);
}

inline void a_recomputation_sends_no_tensor() {
  expect_the_same([](const Tensor& x) {
    return exp(allreduce(sin(x), {.op = ReduceOp::kSum}));
  });
  expect_the_same([](const Tensor& x) {
    return exp(allgather(sin(x), {.name = "rows"})) * 2.0;
  });
  expect_the_same([](const Tensor& x) { return exp(broadcast(sin(x), 0)); });
  expect_the_same([](const Tensor& x) {
    const Tensor rows = x.expand({2, 2}).reshape({4}).narrow(0, 0, 4);
    const std::vector<std::int64_t> one_each(static_cast<std::size_t>(size()),
                                             1);
    return exp(alltoall(sin(rows), {.splits = one_each}).tensor);
  });
  expect_the_same([](const Tensor& x) {
    return exp(reducescatter(sin(x.expand({2, 2, 2}).reshape({8}))));
  });
  expect_the_same([](const Tensor& x) {
    const auto both = grouped_allreduce({sin(x), cos(x)}, {.name = "both"});
    return exp(both[0]) * both[1];
  });
}

inline void a_recomputation_may_write_received_tensors() {
  expect_the_same([](const Tensor& x) {
    const Tensor y = sin(x);
    allreduce_(y, {.op = ReduceOp::kSum});
    const Tensor z = y * 2.0;
    broadcast_(z.select(1, 0), 0);
    return exp(z) * y;
  });
  // Received tensors may be written.
  expect_the_same([](const Tensor& x) {
    const Tensor y = allreduce(sin(x), {.op = ReduceOp::kSum});
    y.mul_(3.0);
    return exp(y);
  });
  expect_the_same([](const Tensor& x) {
    const Tensor y = sin(x);
    throw_if_error(allreduce_async_(y).wait());
    const Future<Tensor> z = allreduce_async(y * 2.0, {.op = ReduceOp::kSum});
    return exp(value_or_throw(z.wait())) * y;
  });
}

// Recomputation uses the values that forward received, even if a collective
// would now give others.
inline void a_recomputation_uses_the_tensors_of_forward() {
  const Tensor x = leaf({1, 2}, {2});
  const Tensor seen = like_rank({2});
  const auto block = [&](const Tensor& in) {
    return in * allreduce(seen, {.name = "seen", .op = ReduceOp::kSum});
  };
  for (const bool reentrant : {false, true}) {
    for (int round = 0; round < 2; ++round) {
      seen.data().fill_(rank());
      const Tensor y =
          checkpoint(block, x, CheckpointOptions{.use_reentrant = reentrant});
      seen.data().fill_(1000);
      y.backward(ones64({2}), {.retain_graph = true});
      y.sum().backward();
      EXPECT_EQ(values(x.grad()), repeated(2, 2 * sum_of_ranks()));
      x.set_grad({});
    }
  }
}

constexpr TensorCase kCheckpointCases[] = {
    {"ARecomputationSendsNoTensor", a_recomputation_sends_no_tensor},
    {"ARecomputationMayWriteReceivedTensors",
     a_recomputation_may_write_received_tensors},
    {"ARecomputationUsesTheTensorsOfForward",
     a_recomputation_uses_the_tensors_of_forward},
};

}  // namespace hvd::suite
