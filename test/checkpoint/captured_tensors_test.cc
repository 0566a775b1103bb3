// SPDX-License-Identifier: Apache-2.0
// Section 1L of the contract: tensors that a function reads from outside.
#include "horovodpp/autograd/record/captured_tensors.h"

#include <functional>
#include <vector>

#include "test/checkpoint/regions.h"

namespace hvd {
namespace {

using autograd::CheckpointError;
using autograd::VersionError;

// Item 176.
TEST(Checkpoint, AnInputThatWasModifiedIsAVersionError) {
  Tensor x = leaf({1, 2}, {2});
  Tensor in = x * 2.0;
  Tensor y = checkpoint([](const Tensor& t) { return sin(t); }, in);
  modify(in);
  EXPECT_ERROR(VersionError, "modified by an inplace operation",
               y.sum().backward());
}

TEST(Checkpoint, AWriteToASavedResultIsAVersionError) {
  const auto writes = [](const Tensor& in) {
    const Tensor made = exp(in);
    const Tensor square = made * made;
    made.add_(1.0);
    return exp(square);
  };
  const Tensor y = checkpoint(writes, leaf({1, 2}, {2}));
  EXPECT_ERROR(VersionError, "in place by the checkpointed function",
               y.sum().backward());
}

// Item 163 also holds for operations: each saved tensor is available once.
TEST(Checkpoint, WritingAtIndicesHasBothGradients) {
  const auto f = [](const Tensor& x, const Tensor& value) {
    const Tensor y = x * 2.0;
    y.index_put_({constant({1, 0, 1}, {3}).to(DType::kBool)}, value);
    return y;
  };
  const Tensor x = leaf({1, 2, 3}, {3}), value = leaf({4}, {});
  f(x, value).sum().backward();
  const auto dx = values(x.grad()), dv = values(value.grad());
  x.set_grad({});
  value.set_grad({});
  checkpoint(f, x, value).sum().backward();
  EXPECT_EQ(values(x.grad()), dx);
  EXPECT_EQ(values(value.grad()), dv);
}

TEST(Checkpoint, AnOuterRegionGuardsTensorsThatAReentrantOneCaptures) {
  Tensor x = randn64({3}), w = randn64({3});
  const auto inner = [=](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{in[0] * w};
  };
  const Tensor y = checkpoint(
      [=](const Tensor& in) {
        return autograd::checkpoint_reentrant(inner, {in})[0];
      },
      x);
  modify(w);
  EXPECT_ERROR(CheckpointError, "was modified in place since forward read it",
               y.sum().backward());
}

// Item 177.
TEST(Checkpoint, ACapturedTensorThatWasModifiedIsAnError) {
  Tensor x = leaf({1, 2}, {2}), w = leaf({3, 4}, {2});
  Tensor buffer = constant({5, 6}, {2});
  for (Tensor captured : {w, buffer}) {
    // Neither sum saves a tensor.
    Tensor y = checkpoint(
        [&](const Tensor& in) { return sin(in + w) + cos(in + buffer); }, x);
    modify(captured);
    EXPECT_ERROR(CheckpointError, "was modified in place since forward read it",
                 y.sum().backward());
    y = checkpoint(
        [&](const Tensor& in) { return sin(in + w) + cos(in + buffer); }, x);
    EXPECT_NO_THROW(y.sum().backward());
  }
}

// Item 177: also if no gradient flows, and if each run makes its own view.
TEST(Checkpoint, ACapturedTensorIsKnownByItsMemory) {
  Tensor x = leaf({1, 2}, {2}), w = leaf({3, 4}, {2});
  const std::vector<std::function<Tensor(const Tensor&)>> functions{
      [&](const Tensor& in) { return sin(in + w.detach()); },
      [&](const Tensor& in) { return sin(where(gt(w, 0.0), in, -in)); },
      [&](const Tensor& in) { return sin(where(lt(w, in), in, -in)); },
      [&](const Tensor& in) { return sin(in * w.detach().narrow(0, 1, 1)); }};
  for (const auto& f : functions) {
    Tensor y = checkpoint(f, x);
    modify(w);
    EXPECT_ERROR(CheckpointError, "was modified in place since forward read it",
                 y.sum().backward());
    EXPECT_NO_THROW(checkpoint(f, x).sum().backward());
  }
}

TEST(Checkpoint, RunningStatisticsAreCaptured) {
  Tensor x = randn64({3, 2});
  const Tensor mean = constant({0, 0}, {2}), variance = constant({1, 1}, {2});
  const auto f = [&](const Tensor& in) {
    return batch_norm(in, mean, variance, {}, {});
  };
  const Tensor y = checkpoint(f, x);
  variance.fill_(4.0);
  EXPECT_ERROR(CheckpointError, "was modified in place since forward read it",
               y.sum().backward());
}

TEST(Checkpoint, ACapturedTensorThatTheFunctionWritesItselfIsAnError) {
  Tensor x = leaf({1, 2}, {2}), sums = constant({0, 0}, {2});
  const auto f = [&](const Tensor& in) {
    NoGrad no_grad;
    sums.add_(in);
    EnableGrad grad;
    return sin(in * sums);
  };
  EXPECT_ERROR(CheckpointError, "was modified in place",
               checkpoint(f, x).sum().backward());
}

TEST(Checkpoint, AWriteInTheFirstRunAloneIsNoError) {
  Tensor x = leaf({1, 2}, {2}), sums = constant({0, 0}, {2});
  const auto f = [&](const Tensor& in) {
    if (!autograd::is_recomputing()) {
      NoGrad no_grad;
      sums.add_(in);
    }
    return sin(in);
  };
  checkpoint(f, x).sum().backward();
  EXPECT_EQ(values(sums), values(x.detach()));
}

// A region captures the tensors that its inner regions capture.
TEST(Checkpoint, ATensorCapturedWithinIsCapturedAround) {
  Tensor x = leaf({1, 2}, {2}), w = leaf({3, 4}, {2});
  Tensor y = checkpoint(
      [&](const Tensor& in) {
        return checkpoint([&](const Tensor& t) { return (t + w).clone(); },
                          sin(in));
      },
      x);
  // The inner region saves no tensor and is never replayed.
  modify(w);
  EXPECT_ERROR(CheckpointError, "captured",
               checkpoint(
                   [&](const Tensor& in) {
                     Tensor made = checkpoint(
                         [&](const Tensor& t) { return (t + w).clone(); },
                         sin(in));
                     if (!autograd::is_recomputing()) {
                       NoGrad no_grad;
                       w.add_(1.0);
                     }
                     return sin(made);
                   },
                   x)
                   .sum()
                   .backward());
}

}  // namespace
}  // namespace hvd
