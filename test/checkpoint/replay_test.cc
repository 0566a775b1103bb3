// SPDX-License-Identifier: Apache-2.0
// Section 1L of the contract: recomputations that differ from forward.
#include "horovodpp/checkpoint/replay.h"

#include <optional>
#include <string>

#include "test/checkpoint/regions.h"

namespace hvd {
namespace {

using autograd::CheckpointError;
using testing::AnyOf;
using testing::HasSubstr;

// A function that differs in the second run.
template <typename First, typename Second>
Tensor differing(const Tensor& x, First first, Second second,
                 const CheckpointOptions& options = {}) {
  return checkpoint(
             [=](const Tensor& in) {
               return autograd::is_recomputing() ? second(in) : first(in);
             },
             x, options)
      .sum();
}

// Item 166.
TEST(Checkpoint, FewerSavedTensorsAreAnError) {
  Tensor x = leaf({1, 2}, {2});
  const auto two = [](const Tensor& in) { return sin(exp(in)); };
  const auto one = [](const Tensor& in) { return exp(in); };
  Tensor y = differing(x, two, one);
  EXPECT_ERROR(CheckpointError,
               "A different number of tensors was saved during the original "
               "forward pass and the recomputation: 2 and 1",
               y.backward());
  y = differing(x, two, one);
  EXPECT_ERROR(CheckpointError, "was saved by SinBackward", y.backward());
}

// Item 167.
TEST(Checkpoint, MoreSavedTensorsAreAnErrorUnlessItStopsBefore) {
  Tensor x = leaf({1, 2}, {2});
  const auto one = [](const Tensor& in) { return exp(in); };
  const auto two = [](const Tensor& in) { return sin(exp(in)); };
  EXPECT_ERROR(CheckpointError,
               "trying to save more tensors during recomputation",
               differing(x, one, two, kNoEarlyStop).backward());
  x.set_grad({});
  differing(x, one, two).backward();
  EXPECT_EQ(values(x.grad()), values(exp(x.detach())));
}

// Item 168.
TEST(Checkpoint, OtherMetadataIsAnErrorThatNamesBothOperations) {
  Tensor x = leaf({1, 2}, {2});
  const auto sine = [](const Tensor& in) { return sin(in); };
  const auto wide = [](const Tensor& in) { return exp(in.expand({3, 2})); };
  const auto single = [](const Tensor& in) {
    return sin(in.to(DType::kF32)).to(DType::kF64);
  };
  EXPECT_ERROR(CheckpointError,
               "have different metadata than in the forward pass. The "
               "first operation that differs saved tensor 0: in forward "
               "SinBackward saved float64[2], in the recomputation ExpBackward "
               "saved float64[3,2]",
               differing(x, sine, wide).backward());
  EXPECT_ERROR(CheckpointError, "SinBackward saved float32[2]",
               differing(x, sine, single).backward());
  differing(x, sine, wide, {.determinism_check = DeterminismCheck::kNone})
      .backward();
}

// Item 169.
TEST(Checkpoint, DebugTellsTheOperationsOfBothRuns) {
  Tensor x = leaf({1, 2}, {2});
  const auto one = [](const Tensor& in) { return exp(sin(in)); };
  const auto other = [](const Tensor& in) { return exp(tanh(in).sum()); };
  const auto text = [&](const CheckpointOptions& options) {
    try {
      differing(x, one, other, options).backward();
    } catch (const CheckpointError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(text({}), HasSubstr("CheckpointDebug(true) tells"));
  // Without debug, too, the error names the function and the position of its
  // second run.
  EXPECT_THAT(text({}),
              AnyOf(HasSubstr("OperationsOfBothRuns_Test::TestBody()"),
                    HasSubstr("replay_test.cc:")));
  EXPECT_THAT(text({}), HasSubstr("The recomputation was here:\n  at "));
  const std::string debug = text({.debug = true});
  EXPECT_THAT(debug, HasSubstr("Operations of forward:\n0: SinBackward"));
  EXPECT_THAT(debug, HasSubstr("Operations of the recomputation:\n0: Tanh"));
  EXPECT_THAT(debug, HasSubstr("  at "));
  {
    CheckpointDebug on(true);
    EXPECT_THAT(text({}), HasSubstr("Operations of forward"));
    CheckpointDebug unset(std::nullopt);
    EXPECT_THAT(text({}), testing::Not(HasSubstr("Operations of forward")));
  }
  CheckpointDebug off(false);
  EXPECT_THAT(text({.debug = true}),
              testing::Not(HasSubstr("Operations of forward")));
}
// Item 178.
TEST(Checkpoint, ChecksumsFindOtherValues) {
  Tensor x = leaf({1, 2}, {2});
  const auto f = [](const Tensor& in) {
    return sin(in * (autograd::is_recomputing() ? 2.0 : 3.0));
  };
  EXPECT_NO_THROW(checkpoint(f, x).sum().backward());
  EXPECT_ERROR(CheckpointError, "The first tensor that differs is number 0",
               checkpoint(f, x,
                          CheckpointOptions{.determinism_check =
                                                DeterminismCheck::kChecksum})
                   .sum()
                   .backward());
  const auto random = [](const Tensor& in) { return sin(dropout(in, 0.5)); };
  Tensor wide = ones64({1000}, true);
  EXPECT_ERROR(CheckpointError, "saved by",
               checkpoint(random, wide,
                          CheckpointOptions{
                              .preserve_rng_state = false,
                              .determinism_check = DeterminismCheck::kChecksum})
                   .sum()
                   .backward());
}

}  // namespace
}  // namespace hvd
