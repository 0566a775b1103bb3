// SPDX-License-Identifier: Apache-2.0
// Sections 1D and 1E of the contract: in-place operations, versions, views, and
// grad modes.
#include <thread>

#include "horovodpp/autograd/engine.h"
#include "horovodpp/autograd/gradcheck.h"
#include "horovodpp/autograd/graph/node.h"
#include "horovodpp/autograd/saved/saved_tensor.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops/images/images.h"
#include "test/autograd/support.h"

namespace hvd {
namespace {

using autograd::LeafInplaceError;
using autograd::VersionError;
using autograd::ViewInplaceError;
using testing::Each;
using testing::ElementsAre;

TEST(Inplace, ReadsAnOperandThatSharesMemoryByAnotherNameBeforeItWrites) {
  Tensor x = constant({1, 2, 3, 4}, {2, 2});
  x.copy_(x.data().t());
  EXPECT_THAT(values(x), ElementsAre(1, 3, 2, 4));
  x.add_(from_blob(x.raw_data(), {2, 2}, DType::kF64).t());
  EXPECT_THAT(values(x), ElementsAre(2, 5, 5, 8));
}

// y += f(y), where f keeps y: the history of y leads to a node that keeps y.
TEST(Inplace, MakesNoCycleOfATensorAndItsHistory) {
  using Make = Tensor (*)(const Tensor& x);
  const auto result = [](const Tensor& x) { return x * 2.0; };
  const auto constant_of = [](const Tensor& x) { return x.detach().clone(); };
  const auto frozen_later = [](const Tensor& x) {
    return x.detach().clone().set_requires_grad(true);
  };
  for (const Make make :
       {Make(result), Make(constant_of), Make(frozen_later)}) {
    for (const bool of_view : {false, true}) {
      WeakTensor gone;
      Tensor x = leaf({1, 2}, {2}), w = leaf({3, 4}, {2});
      {
        Tensor y = make(x);
        const Tensor part = of_view ? y.narrow(0, 0, 2) : y;
        const Tensor product = part * w;
        if (y.is_leaf()) y.set_requires_grad(false);
        y.add_(product);
        gone = WeakTensor(y);
        EXPECT_ERROR(VersionError, "is at version 1; expected version 0",
                     y.sum().backward());
        EXPECT_ERROR(VersionError, "output 0 of", y.sum().backward());
      }
      EXPECT_FALSE(gone.lock().defined());
      EXPECT_EQ(autograd::saved_tensor_bytes(), 0);
    }
  }
}

// If f keeps another tensor, gradients are unchanged.
TEST(Inplace, KeepsSavedTensorsInUse) {
  Tensor x = leaf({1, 2}, {2});
  const Tensor c = constant({3, 4}, {2});
  Tensor y = x * 2.0;
  const Tensor z = y * c;
  y.add_(z);               // y = 8 x, 10 x
  const Tensor u = y * y;  // Keeps the current y.
  u.sum().backward();
  EXPECT_THAT(values(x.grad()), ElementsAre(128, 400));
}

TEST(Inplace, WritesToGradientsThatAreViews) {
  const Tensor w = leaf(3);
  const Tensor x = leaf({1, 2, 3, 4}, {1, 2, 2});
  // The gradient of one image is a view of the gradient of a batch.
  const Tensor g = autograd::grad({max_pool2d(x, {.kernel = 1}).sum()}, {x})[0];
  g.mul_(w);
  g.sum().backward();
  EXPECT_EQ(value(w.grad()), 4);

  // A view of the caller's tensor.
  const Tensor given = ones64({2, 3});
  const Tensor y = leaf({1, 2, 3, 4, 5, 6}, {3, 2});
  const Tensor turned = autograd::grad({y.t()}, {y}, {given})[0];
  EXPECT_THROW(turned.mul_(w), ViewInplaceError);
}

TEST(Inplace, WritesToResultsThatWereMadeWithoutRecording) {
  const Tensor w = leaf(3);
  const Tensor x = leaf({1, 2, 3, 4}, {2, 2});
  const Tensor classes = from_vector<std::int64_t>({0, 1}, {2});
  const Tensor class_of_all = from_vector<std::int64_t>({0}, {});
  std::vector<Tensor> results;
  {
    NoGrad no_grad;
    const NllOptions each{.reduction = Reduction::kNone};
    results.push_back(nll_loss(x.view({1, 2, 2}), classes.view({1, 2}), each));
    results.push_back(nll_loss(x.view({4}), class_of_all, each));
    results.push_back(conv2d(x.view({1, 2, 2}), ones64({1, 1, 1, 1})));
  }
  for (const Tensor& result : results) {
    EXPECT_TRUE(result.mul_(w).requires_grad());
  }
}

// Item 58.
TEST(Version, CountsWritesNotResults) {
  Tensor a = leaf({1, 3}, {2});
  Tensor b = a + 2.0;
  EXPECT_EQ(b.version(), 0u);
  const void* memory = b.raw_data();
  b.select(0, 0).fill_(1000);
  EXPECT_EQ(b.version(), 1u);
  EXPECT_EQ(b.raw_data(), memory);
  EXPECT_FALSE(exp(a).is_same(a));
}

// Item 59.
TEST(Version, AWriteToASavedTensorIsReported) {
  Tensor a = leaf({1, 3}, {2});
  Tensor b = a + 2.0;
  Tensor loss = (b * b).mean();
  b.select(0, 0).fill_(1000);
  EXPECT_ERROR(VersionError, "modified by an inplace operation",
               loss.backward({}, {.retain_graph = true}));
  EXPECT_ERROR(VersionError, "float64[2]",
               loss.backward({}, {.retain_graph = true}));
  EXPECT_ERROR(VersionError, "is at version 1; expected version 0",
               loss.backward({}, {.retain_graph = true}));
  EXPECT_ERROR(VersionError, "MulBackward", loss.backward());
}

// Item 60.
TEST(Version, AWriteToAnUnsavedTensorIsFine) {
  Tensor x = leaf(3), y = leaf(4);
  Tensor z = x * y;
  Tensor q = z + y;
  Tensor w = z * y;
  z.add_(2.0);
  q.backward({}, {.retain_graph = true});
  EXPECT_EQ(value(y.grad()), 4);
  EXPECT_THROW(w.backward(), VersionError);
}

// Item 61.
TEST(Inplace, ALeafThatRequiresGradIsNotWritten) {
  Tensor a = leaf({1, 3}, {2});
  EXPECT_ERROR(LeafInplaceError, "leaf Variable that requires grad",
               a.add_(10.0));
  EXPECT_ERROR(LeafInplaceError, "leaf Variable that requires grad", a += 10.0);
  EXPECT_ERROR(LeafInplaceError, "add_", a += 10.0);
  EXPECT_THAT(values(a), ElementsAre(1, 3));
  EXPECT_EQ(a.version(), 0u);
}

// Item 62.
TEST(Inplace, AViewOfALeafThatRequiresGradIsNotWritten) {
  Tensor a = leaf({1, 3}, {2});
  EXPECT_ERROR(LeafInplaceError,
               "a view of a leaf Variable that requires grad is being used in "
               "an in-place operation",
               a.narrow(0, 0, 2).zero_());
  EXPECT_THAT(values(a), ElementsAre(1, 3));
}

// Items 63, 64.
TEST(Inplace, WritesToLeavesThatAreDetachedOrUnrecorded) {
  for (int way = 0; way < 3; ++way) {
    Tensor a = leaf({1, 3, 2, 4}, {4});
    if (way == 0) a.data().fill_(10);
    if (way == 1) a.detach().fill_(10);
    if (way == 2) {
      NoGrad no_grad;
      a.narrow(0, 0, 4).fill_(10);
    }
    EXPECT_TRUE(a.is_leaf());
    EXPECT_TRUE(a.requires_grad());
    (a * a).mean().backward();
    EXPECT_THAT(values(a.grad()), Each(5));
  }
}

// Item 65.
TEST(Version, DetachSharesItAndDataDoesNot) {
  Tensor x = leaf(3);
  Tensor y = x * x;
  x.detach().zero_();
  EXPECT_THROW(y.backward(), VersionError);

  x = leaf(3);
  y = x * x;
  x.data().zero_();
  y.backward();
  EXPECT_EQ(value(x.grad()), 0);  // Wrong, as documented.
}

// Items 66, 81.
TEST(Version, ViewsShareThatOfTheirBase) {
  Tensor base = constant({1, 2, 3, 4}, {2, 2});
  Tensor view = base.view({4});
  view.add_(1.0);
  EXPECT_EQ(base.version(), 1u);
  base.mul_(2.0);
  EXPECT_EQ(view.version(), 2u);
  EXPECT_THAT(values(view), ElementsAre(4, 6, 8, 10));
}

// Item 68.
TEST(Inplace, ACopyOfALeafCanBeWritten) {
  Tensor leaf_tensor = leaf(2), y = leaf(5);
  Tensor x = leaf_tensor.clone();
  x.add_(10.0);
  x.backward({}, {.retain_graph = true});
  EXPECT_EQ(value(leaf_tensor.grad()), 1);
  Tensor z = x * y;
  x.add_(2.0);
  EXPECT_THROW(z.backward(), VersionError);
}

// Item 69.
TEST(Inplace, SettingAPartPassesGradientsToTheValue) {
  Tensor x = leaf({1, 2, 3}, {3});
  Tensor y = x + 2.0;
  y.narrow(0, 1, 1).fill_(2);
  EXPECT_EQ(y.version(), 1u);
  y.sum().backward();
  EXPECT_THAT(values(x.grad()), ElementsAre(1, 0, 1));

  Tensor v = leaf(7);
  y = x * 1.0;
  y.narrow(0, 0, 2).copy_(v);
  y.sum().backward();
  EXPECT_EQ(value(v.grad()), 2);
}

// Item 70.
TEST(CopySlices, AWriteThroughAViewBelongsToTheBase) {
  Tensor root = leaf({1, 2, 3, 4}, {2, 2});
  Tensor x = root.clone();
  x.narrow(0, 0, 1).mul_(2.0);
  x.sum().backward();
  EXPECT_THAT(values(root.grad()), ElementsAre(2, 2, 1, 1));

  // Backward through a second view.
  root.set_grad({});
  x = root.clone();
  Tensor v1 = x.narrow(0, 0, 1), v2 = x.narrow(0, 0, 1);
  v1.mul_(2.0);
  v2.sum().backward();
  EXPECT_THAT(values(root.grad()), ElementsAre(2, 2, 0, 0));

  // A view of a view.
  root.set_grad({});
  x = root.clone();
  x.narrow(0, 0, 1).narrow(1, 1, 1).mul_(2.0);
  x.sum().backward();
  EXPECT_THAT(values(root.grad()), ElementsAre(1, 2, 1, 1));

  // A base that is not contiguous.
  Tensor wide = leaf({1, 2, 3, 4, 5, 6}, {2, 3});
  x = wide.clone().t();
  Tensor base = x.clone();
  base.narrow(0, 0, 1).narrow(1, 1, 1).mul_(2.0);
  base.sum().backward();
  EXPECT_THAT(values(wide.grad().t()), ElementsAre(1, 2, 1, 1, 1, 1));
}

// Item 71.
TEST(CopySlices, WritingAGradientIntoAViewReachesTheBase) {
  Tensor a = constant({2, 5}, {2});
  Tensor earlier = a.narrow(0, 1, 1);
  Tensor b = leaf({3}, {1});
  a.narrow(0, 1, 1).mul_(b);
  EXPECT_TRUE(a.requires_grad());
  EXPECT_TRUE(earlier.requires_grad());
  a.sum().backward();
  EXPECT_THAT(values(b.grad()), ElementsAre(5));
  EXPECT_FALSE(a.grad().defined());
}

TEST(CopySlices, ChainsWritesThroughDifferentViews) {
  Tensor root = leaf({1, -2, 3, -4}, {2, 2});
  Tensor x = root * 1.0;
  x.view({4}).relu_();
  (x * 3.0).sum().backward();
  EXPECT_THAT(values(root.grad()), ElementsAre(3, 0, 3, 0));

  root.set_grad({});
  x = root * 1.0;
  x.view({4}).mul_(2.0);
  x.t().narrow(0, 0, 1).zero_();
  (x * 3.0).sum().backward();
  EXPECT_THAT(values(root.grad()), ElementsAre(0, 6, 0, 6));
}

TEST(CopySlices, HasSecondDerivatives) {
  const auto write = [](const std::vector<Tensor>& in) {
    Tensor x = in[0] * in[0];
    x.narrow(1, 0, 2).mul_(in[1]);
    x.t().select(0, 2).copy_(in[1].select(0, 0));
    x.narrow(1, 1, 2).exp_();
    return std::vector{x * x};
  };
  const std::vector<Tensor> inputs{randn64({2, 3}), randn64({2, 2})};
  autograd::gradcheck(write, inputs);
  autograd::gradgradcheck(write, inputs);
}

// The saved result of exp_ leads back to the write, which runs once.
TEST(CopySlices, RunsOnceForTheResultThatItsOperationSaved) {
  Tensor x = leaf({1, 1}, {2});
  Tensor sum = x.sum({0}, true);
  sum.squeeze(0).exp_();
  const Tensor once =
      autograd::grad({sum}, {x}, {sum}, {.create_graph = true})[0];
  // sum = e^(x0 + x1):  once = sum²,  its gradient 2 sum²
  once.sum().backward();
  const double square = std::exp(4.0);
  EXPECT_NEAR(value(once.select(0, 0)), square, 1e-4);
  EXPECT_NEAR(value(x.grad().select(0, 0)), 4 * square, 1e-3);
}

// Item 73.
TEST(Inplace, AViewOfNoGradModeIsNotWrittenInGradMode) {
  Tensor base = leaf({1, 2}, {2}).clone();
  Tensor view;
  {
    NoGrad no_grad;
    view = base.narrow(0, 0, 1);
  }
  EXPECT_FALSE(view.requires_grad());
  EXPECT_ERROR(ViewInplaceError, "created in no_grad mode", view.mul_(2.0));
}

// Item 75.
TEST(Inplace, ABaseThatBeginsToRequireGradProtectsItsViews) {
  Tensor a = constant({1, 2}, {2});
  Tensor b = a.narrow(0, 0, 2);
  a.add_(1.0);
  b.add_(1.0);
  a.set_requires_grad(true);
  EXPECT_THROW(a.add_(1.0), LeafInplaceError);
  EXPECT_THROW(b.add_(1.0), LeafInplaceError);
}

// Item 78.
TEST(Inplace, SavesOnlyNeededTensors) {
  const std::int64_t before = autograd::saved_tensor_bytes();
  Tensor x = leaf({1, 2}, {2});
  Tensor y = (((x + 1.0) - x) * 3.0).view({2, 1}).sum();
  EXPECT_EQ(autograd::saved_tensor_bytes(), before);
  Tensor z = x * constant({5, 6}, {2});
  EXPECT_EQ(autograd::saved_tensor_bytes(), before + 16);
  Tensor positive = (x * 1.0).relu_();
  positive.sum().backward();
  EXPECT_THAT(values(x.grad()), Each(1));
}

TEST(Inplace, OperandsMayBeTheTensorItself) {
  Tensor x = leaf({1, 2, 3, 4}, {2, 2});
  Tensor y = x.clone();
  y.mul_(y);
  y.add_(y.t());
  EXPECT_THAT(values(y), ElementsAre(2, 13, 13, 32));
  y.sum().backward();
  EXPECT_THAT(values(x.grad()), ElementsAre(4, 8, 12, 16));
}

TEST(Inplace, RefusesShapesThatDoNotBroadcastAndRepeatedElements) {
  Tensor x = constant({1, 2}, {2});
  EXPECT_ERROR(InvalidArgument, "[3] does not broadcast to [2]",
               x.add_(ones64({3})));
  EXPECT_ERROR(InvalidArgument, "lie on one place",
               x.unsqueeze(0).expand({4, 2}).add_(1.0));
  EXPECT_ERROR(InvalidArgument, "float64 cannot be cast to int64[2]",
               arange(0, 2).add_(ones64({2})));
  const Tensor none = ones64({1, 0}).expand({3, 0});
  EXPECT_EQ(none.mul_(2.0).num_elements(), 0);  // No elements, no repeats.
}

// One value written twice to one address is one value.
TEST(Inplace, FillsRepeatedElements) {
  const Tensor x = constant({1, 2}, {2, 1});
  x.expand({2, 3}).fill_(5);
  EXPECT_THAT(values(x), Each(5));
  x.expand({2, 3}).select(0, 1).zero_();
  EXPECT_THAT(values(x), ElementsAre(5, 0));

  for (const bool create_graph : {false, true}) {
    const Tensor a = leaf({1, 2}, {2, 1}), b = leaf({3, 4, 5}, {3});
    const Tensor whole = a * 1.0;
    const Tensor part = whole.expand({2, 3});
    part.select(0, 0).fill_(7);
    EXPECT_THAT(values(part), ElementsAre(7, 7, 7, 2, 2, 2));
    const auto gradients =
        autograd::grad({(whole * 2.0).sum() + (part * b).sum()}, {a, b}, {},
                       {.create_graph = create_graph});
    EXPECT_THAT(values(gradients[0]), ElementsAre(0, 14));
    EXPECT_THAT(values(gradients[1]), Each(9));
  }
}

// Item 82.
TEST(Modes, NestAndSurviveExceptions) {
  Tensor x = leaf(1);
  {
    NoGrad no_grad;
    EXPECT_FALSE((x * 2.0).requires_grad());
    {
      EnableGrad enable;
      EXPECT_TRUE((x * 2.0).requires_grad());
    }
    EXPECT_FALSE(is_grad_enabled());
    bool elsewhere = false;
    std::thread([&] { elsewhere = is_grad_enabled(); }).join();
    EXPECT_TRUE(elsewhere);
  }
  try {
    NoGrad no_grad;
    throw 1;
  } catch (int) {
  }
  EXPECT_TRUE(is_grad_enabled());
}

// Item 83.
TEST(Modes, BackwardRunsInTheModeOfCreateGraph) {
  Tensor x = leaf(2);
  for (bool create : {false, true}) {
    Tensor y = x * x;
    bool mode = !create;
    y.register_hook([&](const Tensor&) { mode = is_grad_enabled(); });
    autograd::grad({y}, {x}, {}, {.create_graph = create});
    EXPECT_EQ(mode, create);
  }
}

// Item 86.
TEST(Modes, DetachStopsTheGradient) {
  Tensor x = leaf(3);
  Tensor y = (x * 2.0).detach();
  (x + y).backward();
  EXPECT_EQ(value(x.grad()), 1);
}

// Item 137.
TEST(Modes, AnUpdateUnderNoGradKeepsTheLeaf) {
  Tensor w = leaf(3);
  (w * w).backward();
  {
    NoGrad no_grad;
    w.add_(w.grad(), -0.5);
  }
  EXPECT_TRUE(w.is_leaf());
  EXPECT_EQ(value(w), 0);
  EXPECT_EQ(value(w * 2.0 + 1.0), 1);
}

}  // namespace
}  // namespace hvd
