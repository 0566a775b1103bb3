// SPDX-License-Identifier: Apache-2.0
#include "test/libtorch/checks.h"

namespace {

namespace lt = hvd::libtorch;
using torch::Tensor;

Tensor ranks_up_to(int count) { return torch::arange(count, torch::kFloat); }

TEST(ReducesTensorsOfAllKindsOfMemory) {
  const int n = lt::size();
  const float mean = static_cast<float>(n - 1) / 2;
  const Tensor row = torch::full({3}, lt::rank(), torch::kFloat);
  EXPECT_CLOSE(lt::allreduce(row), torch::full({3}, mean), 1e-6);
  EXPECT_CLOSE(row, torch::full({3}, lt::rank()), 0);  // Unchanged.

  const Tensor matrix = torch::arange(6, torch::kDouble).view({2, 3});
  Tensor turned = (matrix * (lt::rank() + 1)).t();
  lt::allreduce_(turned, {"turned", lt::ReduceOp::kSum});
  EXPECT_CLOSE(turned, matrix.t() * (n * (n + 1) / 2), 1e-12);

  Tensor half = torch::ones({5}, torch::kHalf);
  Tensor whole = torch::full({2}, lt::rank(), torch::kLong);
  lt::Operation group = lt::grouped_allreduce_async_(
      {half, whole}, {"group", lt::ReduceOp::kSum});
  EXPECT(group.wait_all().size() == 2);
  EXPECT(group.poll());
  EXPECT_CLOSE(half, torch::full({5}, n), 0);
  EXPECT_CLOSE(whole, torch::full({2}, n * (n - 1) / 2), 0);

  const Tensor scalar = torch::tensor(1.0 + lt::rank());
  EXPECT_CLOSE(lt::allreduce(scalar, {{}, lt::ReduceOp::kMax}),
               torch::tensor(n), 0);
}

TEST(ServesOneRank) {
  const int n = lt::size(), r = lt::rank(), root = n - 1;
  Tensor mine = torch::full({2}, r + 1, torch::kFloat);
  lt::reduce_async_(mine, root, {{}, lt::ReduceOp::kSum}).wait();
  EXPECT_CLOSE(mine, torch::full({2}, r == root ? n * (n + 1) / 2 : r + 1), 0);
  const Tensor all =
      lt::gather_async(torch::full({1, 2}, r, torch::kLong), root).wait();
  EXPECT(all.size(0) == (r == root ? n : 0) && all.size(1) == 2);
  const Tensor table = torch::arange(2 * n, torch::kFloat);
  const Tensor part =
      lt::scatter_async(r == root ? table : table.narrow(0, 0, 0), root).wait();
  EXPECT_CLOSE(part, torch::arange(2 * r, 2 * r + 2, torch::kFloat), 0);
}

TEST(RefusesUnsupportedTensors) {
  EXPECT_THROWN(lt::Error, "Complex",
                lt::allreduce_(torch::ones({2}, torch::kComplexFloat)));
  EXPECT_THROWN(lt::Error, "undefined", lt::allreduce_(Tensor()));
  EXPECT_THROWN(lt::Error, "sparse",
                lt::allreduce_(torch::ones({2, 2}).to_sparse()));
  EXPECT_THROWN(lt::Error, "scalar", lt::allgather(torch::tensor(1.0f)));
  EXPECT_THROWN(lt::Error, "", lt::broadcast(torch::ones(1), lt::size()));
}

TEST(InPlaceResultsAreSeenByBackward) {
  Tensor x = torch::ones({2}, torch::requires_grad());
  Tensor y = x * 2;
  const Tensor loss = (y * y).sum();
  lt::allreduce_(y.detach());
  EXPECT_THROWN(c10::Error, "modified by an inplace operation",
                loss.backward());
}

TEST(GradientsFlowThroughCollectives) {
  const int n = lt::size(), r = lt::rank();
  Tensor x = torch::full({2}, r + 1.0, torch::requires_grad());
  lt::allreduce(x, {{}, lt::ReduceOp::kSum}).sum().backward();
  EXPECT_CLOSE(x.grad(), torch::full({2}, n), 1e-6);

  // Each rank has one row more than the previous one; weights are the owner's
  // rank.
  Tensor rows = torch::full({r + 1, 2}, 1.0 * r, torch::requires_grad());
  const Tensor all = lt::allgather(rows);
  EXPECT(all.size(0) == n * (n + 1) / 2 && all.size(1) == 2);
  EXPECT_CLOSE(all[-1], torch::full({2}, n - 1), 0);
  (all * all).sum().backward();
  EXPECT_CLOSE(rows.grad(), torch::full({r + 1, 2}, 2 * r), 1e-6);

  const int root = n - 1;
  Tensor sent = torch::full({2}, 1.0 * r, torch::requires_grad());
  const Tensor got = lt::broadcast(sent, root);
  EXPECT_CLOSE(got, torch::full({2}, root), 0);
  (got * 3).sum().backward();
  EXPECT_CLOSE(sent.grad(), torch::full({2}, r == root ? 3 : 0), 1e-6);

  Tensor whole = torch::ones({n, 2}, torch::requires_grad());
  const Tensor part = lt::reducescatter(whole, {{}, lt::ReduceOp::kSum});
  EXPECT_CLOSE(part, torch::full({1, 2}, n), 1e-6);
  part.sum().backward();
  EXPECT_CLOSE(whole.grad(), torch::full({n, 2}, n), 1e-6);

  // Rank i gets i + 1 rows, and one row goes to no rank.
  lt::AlltoallOptions options;
  for (int i = 0; i < n; ++i) options.splits.push_back(i + 1);
  Tensor split =
      torch::full({n * (n + 1) / 2, 1}, 1.0 * r, torch::requires_grad());
  const auto [came, counts] = lt::alltoall(split, options);
  EXPECT_CLOSE(counts, torch::full({n}, r + 1), 0);
  EXPECT_CLOSE(came.view({n, r + 1}).select(1, 0), ranks_up_to(n), 0);
  (came * came).sum().backward();
  EXPECT_CLOSE(split.grad(), torch::full({n * (n + 1) / 2, 1}, 2 * r), 1e-6);
}

TEST(SecondDerivativesFlowThroughCollectives) {
  Tensor x = torch::full({2}, 3.0, torch::requires_grad());
  const Tensor y = lt::allreduce(x * x * x);
  const Tensor slope = torch::autograd::grad({y.sum()}, {x}, {}, {}, true)[0];
  slope.sum().backward();
  EXPECT_CLOSE(x.grad(), torch::full({2}, 18), 1e-5);
}

TEST(ProcessSetsReduceAmongThemselves) {
  const int n = lt::size(), r = lt::rank();
  if (n == 1) return;
  std::vector<int> even;
  for (int i = 0; i < n; i += 2) even.push_back(i);
  const lt::ProcessSet set = lt::add_process_set(even);
  EXPECT(set.ranks() == even && set.included() == (r % 2 == 0));
  if (set.included()) {
    EXPECT(set.rank() == r / 2);
    const Tensor sum =
        lt::allreduce(torch::ones(1), {{}, lt::ReduceOp::kSum, 1, 1, set});
    EXPECT_CLOSE(sum, torch::full({1}, set.size()), 0);
  } else {
    EXPECT_THROWN(lt::Error, "", set.rank());
  }
  lt::remove_process_set(set);
}

TEST(ModulesAndOptimizersBecomeThoseOfTheRoot) {
  const int root = lt::size() - 1;
  torch::manual_seed(lt::rank());
  torch::nn::Sequential model(torch::nn::Linear(3, 4),
                              torch::nn::BatchNorm1d(4));
  torch::optim::Adam adam(model->parameters(), 0.1 * (lt::rank() + 1));
  const Tensor x = torch::randn({8, 3});
  if (lt::rank() == root) {  // Other ranks have no state yet.
    for (int i = 0; i < 3; ++i) {
      adam.zero_grad();
      model->forward(x).pow(2).sum().backward();
      adam.step();
    }
  }
  lt::broadcast_parameters(*model, root);
  lt::broadcast_optimizer_state(adam, root);
  const auto rate =
      static_cast<torch::optim::AdamOptions&>(adam.param_groups()[0].options())
          .lr();
  EXPECT(rate == 0.1 * (root + 1));
  // Equal states give equal steps.
  torch::manual_seed(1);
  const Tensor y = torch::randn({8, 3});
  model->eval();
  adam.zero_grad();
  model->forward(y).pow(2).sum().backward();
  adam.step();
  for (const auto& item : model->named_parameters()) {
    Tensor mine = item.value().detach().clone();
    EXPECT(torch::equal(mine, lt::broadcast_(mine.clone(), root)));
  }
  for (const Tensor& buffer : model->buffers()) {
    EXPECT(torch::equal(buffer, lt::broadcast_(buffer.clone(), root)));
  }
}

TEST(TheArenaHoldsTensors) {
  Tensor inside = lt::arena_empty({3, 2}, torch::kDouble);
  EXPECT(hvd_is_in_arena(inside.data_ptr(), inside.nbytes()) == 1);
  inside.fill_(lt::rank());
  lt::allreduce_(inside);
  EXPECT_CLOSE(inside, torch::full({3, 2}, (lt::size() - 1) / 2.0), 1e-12);
  EXPECT(lt::arena_empty({0, 2}).numel() == 0);
}

}  // namespace
