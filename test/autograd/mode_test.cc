// SPDX-License-Identifier: Apache-2.0
// Section 1E of the contract: inference mode, autocast, and warnings.
#include <functional>
#include <limits>
#include <thread>

#include "horovodpp/autograd/anomaly.h"
#include "horovodpp/autograd/graph/graph_state.h"
#include "horovodpp/autograd/record/autocast.h"
#include "horovodpp/autograd/record/function.h"
#include "horovodpp/autograd/saved/saved_tensor.h"
#include "horovodpp/autograd/warning.h"
#include "horovodpp/core/error.h"
#include "test/autograd/support.h"

namespace hvd {
namespace {

using autograd::AutogradError;
using autograd::InferenceError;
using autograd::VersionError;
using autograd::ViewInplaceError;
using autograd::Warnings;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

// Item 84.
TEST(InferenceMode, ItsTensorsAreNeverPartOfAGraph) {
  Tensor x = leaf({1, 2}, {2});
  Tensor made;
  {
    InferenceMode inference;
    EXPECT_TRUE(is_inference_mode_enabled());
    EXPECT_FALSE(is_grad_enabled());
    made = x * 2.0;
    made.add_(1.0);
  }
  EXPECT_FALSE(is_inference_mode_enabled());
  EXPECT_TRUE(made.is_inference());
  EXPECT_FALSE(made.requires_grad());
  EXPECT_ERROR(InferenceError, "do not track version counter", made.version());
  EXPECT_ERROR(InferenceError, "cannot be saved for backward", x * made);
  EXPECT_ERROR(InferenceError, "Inplace update to inference tensor",
               made.mul_(2.0));
  EXPECT_ERROR(InferenceError, "outside InferenceMode",
               made.set_requires_grad(true));
  EXPECT_TRUE(made.narrow(0, 0, 1).is_inference());
  (x + made).sum().backward();
  EXPECT_THAT(values(x.grad()), Each(1));
  Tensor normal = made.clone().set_requires_grad(true);
  (normal * normal).sum().backward();
  EXPECT_THAT(values(normal.grad()), ElementsAre(6, 10));
}

TEST(InferenceMode, ViewsOfItsTensorsMadeLaterAreLeaves) {
  Tensor x;
  {
    InferenceMode inference;
    x = ones({2});
  }
  const Tensor view = x.select(0, 0);
  EXPECT_TRUE(view.is_leaf());
  EXPECT_FALSE(view.grad_fn());
}

// Item 85.
TEST(InferenceMode, WritesToNormalTensorsCount) {
  Tensor x = leaf(2);
  Tensor y = x * 1.0;
  Tensor z = y * y;
  {
    InferenceMode inference;
    y.add_(1.0);
    EXPECT_FALSE(y.is_inference());
  }
  EXPECT_THROW(z.backward(), VersionError);
}

// Item 73.
TEST(InferenceMode, ItsViewsOfNormalTensorsAreNotWrittenLater) {
  Tensor y = leaf({1, 2}, {2}) * 1.0;
  Tensor part;
  {
    InferenceMode inference;
    part = y.narrow(0, 0, 1);
  }
  EXPECT_FALSE(part.is_inference());
  EXPECT_ERROR(ViewInplaceError, "created in inference mode", part.mul_(2.0));
}

TEST(InferenceMode, ItsDataOfNormalTensorsCanBeWrittenLater) {
  const Tensor y = leaf({1, 2}, {2});
  Tensor data;
  {
    InferenceMode inference;
    data = y.data();
  }
  EXPECT_FALSE(data.is_inference());
  data.mul_(2.0);
  EXPECT_EQ(values(y), (std::vector<double>{2, 4}));
}

// Item 82.
TEST(Modes, SetGradEnabledNestsInEveryDirection) {
  SetGradEnabled off(false);
  {
    SetGradEnabled on(true);
    EXPECT_TRUE((leaf(1) * 2.0).requires_grad());
    InferenceMode inference;
    {
      InferenceMode normal(false);
      EXPECT_TRUE((leaf(1) * 2.0).requires_grad());
      EXPECT_FALSE((leaf(1) * 2.0).is_inference());
    }
    EXPECT_FALSE((leaf(1) * 2.0).requires_grad());
  }
  EXPECT_FALSE(is_grad_enabled());
}

// Item 5.
TEST(Warnings, ReadingTheGradientOfANonLeafWarnsOnce) {
  std::vector<std::string> heard;
  Warnings warnings([&](const std::string& text) { heard.push_back(text); });
  Tensor x = leaf(1);
  Tensor y = x * 2.0, z = x * 3.0;
  EXPECT_FALSE(x.grad().defined());
  EXPECT_TRUE(heard.empty());
  EXPECT_FALSE(y.grad().defined());
  EXPECT_FALSE(y.grad().defined());
  EXPECT_EQ(heard.size(), 1u);
  EXPECT_THAT(heard.at(0), HasSubstr("retain_grad()"));
  Warnings inner([&](const std::string& text) { heard.push_back(text); });
  z.retain_grad();
  EXPECT_FALSE(z.grad().defined());
  EXPECT_EQ(heard.size(), 1u);
}

// Item 112.
TEST(Warnings, BackwardWithCreateGraphWarnsOfItsCycle) {
  std::vector<std::string> heard;
  Warnings warnings([&](const std::string& text) { heard.push_back(text); });
  Tensor x = leaf(2);
  autograd::grad({x * x}, {x}, {}, {.create_graph = true});
  EXPECT_TRUE(heard.empty());
  for (int i = 0; i < 2; ++i) {
    (x * x).backward({}, {.create_graph = true});
    x.set_grad({});
  }
  EXPECT_EQ(heard.size(), 1u);
  EXPECT_THAT(heard.at(0), HasSubstr("create_graph"));
}

// Item 116.
TEST(Anomaly, NamesTheNodeThatMadeNanAndItsCalls) {
  Tensor x = leaf({0, 1}, {2});
  autograd::DetectAnomaly detect;
  Tensor y = (sqrt(x) * constant({0, 1}, {2})).sum();
  EXPECT_ERROR(AutogradError,
               "Function 'SqrtBackward' returned nan values in its 0th output",
               y.backward());
  EXPECT_THAT(autograd::forward_trace(*y.grad_fn()), HasSubstr("at "));
  EXPECT_THAT(autograd::forward_trace(*y.grad_fn()), HasSubstr("+0x"));
}

struct Throws : autograd::Function<Throws> {
  static Tensor forward(autograd::FunctionContext&, const Tensor& x) {
    return x * 1.0;
  }
  static std::vector<Tensor> backward(autograd::FunctionContext&,
                                      const std::vector<Tensor>&) {
    throw std::out_of_range("thrown in backward");
  }
};

// Items 33, 116.
TEST(Anomaly, NamesTheNodeOfAnException) {
  std::vector<std::string> heard;
  Warnings warnings([&](const std::string& text) { heard.push_back(text); });
  Tensor unknown = Throws::apply(leaf(1));
  autograd::DetectAnomaly detect(false);
  EXPECT_ERROR(std::out_of_range, "thrown in backward",
               Throws::apply(leaf(1)).backward());
  EXPECT_ERROR(std::out_of_range, "thrown in backward", unknown.backward());
  ASSERT_EQ(heard.size(), 2u);
  EXPECT_THAT(heard[0], HasSubstr("Error detected in ThrowsBackward"));
  EXPECT_THAT(heard[0], HasSubstr("at "));
  EXPECT_THAT(heard[1], HasSubstr("not known"));
}

// Item 116.
TEST(Anomaly, ANodeOfADoubleBackwardNamesTheNodeItCameFrom) {
  Tensor x = leaf(2);
  autograd::DetectAnomaly detect;
  Tensor slope = autograd::grad({exp(x)}, {x}, {}, {.create_graph = true})[0];
  EXPECT_THAT(autograd::forward_trace(*slope.grad_fn()),
              HasSubstr("during the backward of ExpBackward"));
}

// Runs `left` nested backward calls, and `probe` in the innermost.
void nest(int left, const std::function<void()>& probe) {
  Tensor x = leaf(1);
  Tensor y = x * 1.0;
  y.register_hook([&](const Tensor&) {
    if (left == 0) {
      probe();
      return;
    }
    EnableGrad enable_grad;
    nest(left - 1, probe);
  });
  y.backward();
}

// Item 127.
TEST(Modes, ReachTheThreadsOnWhichDeepBackwardsRun) {
  std::vector<std::string> heard;
  Warnings warnings([&](const std::string& text) { heard.push_back(text); });
  autograd::SavedTensorHooks::Disabled disabled("not now");
  Autocast autocast(DType::kF16);
  manual_seed(11);
  const auto caller = std::this_thread::get_id();
  const auto& generator = autograd::default_generator();
  nest(70, [&] {
    EXPECT_NE(std::this_thread::get_id(), caller);
    EXPECT_FALSE(is_grad_enabled());
    EXPECT_EQ(&autograd::default_generator(), &generator);
    EXPECT_EQ(autograd::current_autocast().dtype, DType::kF16);
    EXPECT_EQ(*autograd::graph_state.saved_tensor_hooks_forbidden, "not now");
    autograd::warn("heard from afar");
  });
  EXPECT_THAT(heard, ElementsAre("heard from afar"));
}

TEST(Autocast, ProductsAreLowSumsAreHigh) {
  Tensor x = randn({4, 8});
  Tensor w = randn({2, 8}, {.requires_grad = true});
  Tensor loss;
  {
    Autocast autocast(DType::kBF16);
    Tensor y = linear(x, w);
    EXPECT_EQ(y.dtype(), DType::kBF16);
    EXPECT_EQ(y.matmul(ones({2, 2})).dtype(), DType::kBF16);
    EXPECT_EQ(relu(y).dtype(), DType::kBF16);
    EXPECT_EQ(y.sum().dtype(), DType::kF32);
    EXPECT_EQ(exp(y).dtype(), DType::kF32);
    EXPECT_EQ(log_softmax(y).dtype(), DType::kF32);
    EXPECT_EQ((y * ones({2})).dtype(), DType::kF32);
    EXPECT_EQ(linear(constant({1}, {1, 1}), constant({1}, {1, 1})).dtype(),
              DType::kF64);
    {
      Autocast off(DType::kBF16, {.enabled = false});
      EXPECT_EQ(linear(x, w).dtype(), DType::kF32);
      Autocast half(DType::kF16);
      EXPECT_EQ(linear(x, w).dtype(), DType::kF16);
    }
    loss = cross_entropy(y, zeros({4}, {.dtype = DType::kI64}));
  }
  EXPECT_EQ(linear(x, w).dtype(), DType::kF32);
  loss.backward();
  EXPECT_EQ(w.grad().dtype(), DType::kF32);
  const auto low = w.grad().to_vector<float>();
  w.set_grad({});
  cross_entropy(linear(x, w), zeros({4}, {.dtype = DType::kI64})).backward();
  const auto exact = w.grad().to_vector<float>();
  for (std::size_t i = 0; i < exact.size(); ++i) {
    EXPECT_NEAR(low[i], exact[i], 0.05);
  }
  EXPECT_ERROR(InvalidArgument, "float64", Autocast wrong{DType::kF64});
}

TEST(Autocast, CastsMixedOperandsToOneDtype) {
  const Tensor high = ones({1, 2, 2});
  const Tensor low = high.to(DType::kBF16);
  Autocast autocast;
  Tensor x = ones({1, 2, 2}, {.requires_grad = true});
  EXPECT_EQ(cat({low, x}).dtype(), DType::kF32);
  EXPECT_EQ(stack({high, low}).dtype(), DType::kF32);
  EXPECT_EQ(cat({low, low}).dtype(), DType::kBF16);
  EXPECT_EQ(bmm(high, low).dtype(), DType::kBF16);
  cat({low, x, low}, 1).sum().backward();
  EXPECT_EQ(x.grad().to_vector<float>(), std::vector<float>(4, 1.0f));
  EXPECT_EQ(cat({arange(0, 2), ones({2})}).dtype(), DType::kF32);
}

TEST(Autocast, LetsHalvesMeetFloatsInChoicesAndInPlace) {
  const Tensor low = ones({2}, {.dtype = DType::kBF16});
  const Tensor high = full({2}, 3);
  Autocast autocast;
  EXPECT_EQ(where(gt(high, 0.0), low, high).dtype(), DType::kF32);
  const Tensor first = from_vector<std::int64_t>({0}, {1});
  EXPECT_EQ(scatter_add(high, 0, first, low).to_vector<float>(),
            (std::vector<float>{4, 3}));
  Tensor x = ones({2}, {.requires_grad = true});
  Tensor y = (x * 2.0).add_(low).mul_(low);
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{3, 3}));
  y.sum().backward();
  EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{2, 2}));
  EXPECT_EQ(low.clone().add_(high).dtype(), DType::kBF16);
}

TEST(Autocast, LowersTheMaskOfAttention) {
  Autocast autocast;
  const Tensor x = ones({1, 2, 2});
  const float never = -std::numeric_limits<float>::infinity();
  const Tensor mask = from_vector<float>({0, never, never, never}, {2, 2});
  const Tensor y = scaled_dot_product_attention(x, x, x, {.mask = mask});
  EXPECT_EQ(y.dtype(), DType::kBF16);
  EXPECT_EQ(to(y, DType::kF32).to_vector<float>(),
            (std::vector<float>{1, 1, 0, 0}));
}

TEST(Autocast, CastsAWeightOncePerOutermostScope) {
  Tensor x = randn({4, 8}, {.requires_grad = true});
  Tensor w = randn({8, 8}, {.requires_grad = true});
  const auto weight_of = [](const Tensor& y) {
    return y.grad_fn()->next_edges()[1].node;
  };
  autograd::Ref<autograd::Node> first;
  {
    Autocast autocast;
    Tensor y = linear(x, w);
    first = weight_of(y);
    {
      Autocast inner;
      EXPECT_EQ(weight_of(linear(y, w)), first);
      EXPECT_NE(weight_of(linear(y * 1.0, y * 1.0)), first);
    }
    {
      NoGrad no_grad;
      EXPECT_FALSE(linear(x, w).requires_grad());
      w.mul_(2.0);
    }
    const auto rewritten = weight_of(linear(x, w));
    EXPECT_NE(rewritten, first);
    Autocast uncached(DType::kBF16, {.cache_enabled = false});
    EXPECT_NE(weight_of(linear(x, w)), rewritten);
  }
  Autocast later;
  EXPECT_NE(weight_of(linear(x, w)), first);
}

}  // namespace
}  // namespace hvd
