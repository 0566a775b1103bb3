// SPDX-License-Identifier: Apache-2.0
// Section 1F of the contract: custom functions.
#include "horovodpp/autograd/record/function.h"

#include <string>
#include <utility>
#include <vector>

#include "horovodpp/autograd/gradcheck.h"
#include "horovodpp/autograd/saved/saved_tensor.h"
#include "horovodpp/core/error.h"
#include "test/autograd/support.h"

namespace hvd {
namespace {

using autograd::AutogradError;
using autograd::backward_name;
using autograd::Function;
using autograd::FunctionContext;
using autograd::GraphFreedError;
using autograd::LeafInplaceError;
using autograd::signature_of;
using autograd::ViewInplaceError;
using testing::Each;
using testing::ElementsAre;
using Tensors = std::vector<Tensor>;

// a + k b + a b
struct MulAdd : Function<MulAdd> {
  static Tensor forward(FunctionContext& context, const Tensor& a, double k,
                        const Tensor& b) {
    context.save_for_backward({a, b});
    context.saved_data["k"] = k;
    return a + b * k + a * b;
  }
  static Tensors backward(FunctionContext& context, const Tensors& grads) {
    const Tensors saved = context.saved_tensors();
    const double k = std::any_cast<double>(context.saved_data["k"]);
    return {grads[0] * (saved[1] + 1.0), Tensor(), grads[0] * (saved[0] + k)};
  }
};

// Items 88, 97.
TEST(Function, HasItsDeclaredDerivative) {
  Tensor a = leaf({1, 2}, {2}), b = leaf({3, 4}, {2});
  Tensor y = MulAdd::apply(a, 2.0, b);
  EXPECT_STREQ(y.grad_fn()->name(), "MulAddBackward");
  EXPECT_THAT(values(y), ElementsAre(10, 18));
  y.sum().backward();
  EXPECT_THAT(values(a.grad()), ElementsAre(4, 5));
  EXPECT_THAT(values(b.grad()), ElementsAre(3, 4));
  const auto function = [](const Tensors& x) {
    return Tensors{MulAdd::apply(x[0], 2.0, x[1])};
  };
  autograd::gradcheck(function, {randn64({3}), randn64({3})});
  autograd::gradgradcheck(function, {randn64({3}), randn64({3})});
}

struct Identity : Function<Identity> {
  static Tensor forward(FunctionContext&, const Tensor& x) { return x; }
  static Tensors backward(FunctionContext&, const Tensors& grads) {
    return {grads[0] * 2.0};
  }
};

// Items 74, 89.
TEST(Function, AnArgumentThatIsReturnedBecomesAView) {
  for (bool cloned : {false, true}) {
    Tensor x = leaf({1, 2}, {2});
    Tensor y = Identity::apply(cloned ? x.clone() : x);
    EXPECT_FALSE(y.is_same(x));
    y.sum().backward();
    EXPECT_THAT(values(x.grad()), Each(2));
    EXPECT_ERROR(ViewInplaceError, "created inside a custom Function",
                 y.mul_(2.0));
  }
  NoGrad no_grad;
  EXPECT_FALSE(Identity::apply(leaf(1)).requires_grad());
}

struct FirstRow : Function<FirstRow> {
  static Tensor forward(FunctionContext& context, const Tensor& x) {
    context.saved_data["shape"] = x.shape();
    return x.select(0, 0);
  }
  static Tensors backward(FunctionContext& context, const Tensors& grads) {
    const auto shape =
        std::any_cast<autograd::Dims>(context.saved_data["shape"]);
    return {grads[0].unsqueeze(0).expand(shape) * 0.5};
  }
};

// Item 74.
TEST(Function, AViewThatItReturnsIsNotWrittenInPlace) {
  Tensor x = leaf({1, 2, 3, 4}, {2, 2});
  Tensor y = FirstRow::apply(x.clone());
  EXPECT_ERROR(ViewInplaceError, "custom Function", y.add_(1.0));
  EXPECT_ERROR(ViewInplaceError, "custom Function",
               y.narrow(0, 0, 1).add_(1.0));
  y.sum().backward();
  EXPECT_THAT(values(x.grad()), Each(0.5));
}

// Saves an undefined tensor, an argument, its result, and an undefined tensor.
struct SavesEverything : Function<SavesEverything> {
  static Tensor forward(FunctionContext& context, const Tensor& x) {
    Tensor y = exp(x);
    context.save_for_backward({Tensor(), x, y, Tensor()});
    EXPECT_ERROR(AutogradError, "before backward", context.saved_tensors());
    return y;
  }
  static Tensors backward(FunctionContext& context, const Tensors& grads) {
    const Tensors saved = context.saved_tensors();
    EXPECT_FALSE(saved[0].defined() || saved[3].defined());
    return {grads[0] * saved[2]};
  }
};

// Item 90.
TEST(Function, SavesArgumentsAndResults) {
  const std::int64_t before = autograd::saved_tensor_bytes();
  Tensor x = leaf(1);
  {
    Tensor y = SavesEverything::apply(x);
    EXPECT_GT(autograd::saved_tensor_bytes(), before);
    y.backward({}, {.retain_graph = true});
    y.backward();
    EXPECT_THROW(y.backward(), GraphFreedError);
  }
  EXPECT_EQ(autograd::saved_tensor_bytes(), before);
  x.set_grad({});
  {
    WeakTensor weak;
    {
      Tensor y = SavesEverything::apply(x);
      weak = WeakTensor(y);
    }
    EXPECT_FALSE(weak.lock().defined());  // No cycle.
  }
  autograd::gradgradcheck(
      [](const Tensors& in) { return Tensors{SavesEverything::apply(in[0])}; },
      {randn64({2})});
}

struct DoubleInPlace : Function<DoubleInPlace> {
  static Tensor forward(FunctionContext& context, const Tensor& x) {
    context.mark_dirty({x});
    x.mul_(2.0);
    return x;
  }
  static Tensors backward(FunctionContext&, const Tensors& grads) {
    return {grads[0] * 2.0};
  }
};

// Item 91.
TEST(Function, WritesTheArgumentsItMarksDirty) {
  Tensor x = leaf({1, 2}, {2});
  EXPECT_ERROR(LeafInplaceError, "leaf Variable", DoubleInPlace::apply(x));
  EXPECT_THAT(values(x), ElementsAre(1, 2));
  Tensor y = x * 1.0;
  Tensor z = DoubleInPlace::apply(y);
  EXPECT_TRUE(z.is_same(y));
  EXPECT_GE(y.version(), 1u);
  EXPECT_STREQ(y.grad_fn()->name(), "DoubleInPlaceBackward");
  y.sum().backward();
  EXPECT_THAT(values(x.grad()), Each(2));
  const auto on_view = [](const Tensors& in) {
    Tensor base = in[0] * in[0];
    DoubleInPlace::apply(base.narrow(0, 1, 2));
    return Tensors{base * in[0]};
  };
  autograd::gradcheck(on_view, {randn64({4})});
  autograd::gradgradcheck(on_view, {randn64({4})});
}

// Writes to its second argument: x += a.
struct AddInto : Function<AddInto> {
  static Tensor forward(FunctionContext& context, const Tensor& a,
                        const Tensor& x) {
    context.mark_dirty({x});
    x.add_(a);
    return x;
  }
  static Tensors backward(FunctionContext&, const Tensors& grads) {
    return {grads[0], grads[0]};
  }
};

// Items 71, 91.
TEST(Function, MayWriteAViewThatIsNotTheFirstArgument) {
  Tensor a = leaf({1, 1}, {2});
  Tensor base = ones64({4});
  AddInto::apply(a, base.narrow(0, 1, 2));
  EXPECT_TRUE(base.requires_grad());
  (base * constant({1, 2, 3, 4}, {4})).sum().backward();
  EXPECT_THAT(values(a.grad()), ElementsAre(2, 3));
}

struct ForgetsToReturn : Function<ForgetsToReturn> {
  static Tensor forward(FunctionContext& context, const Tensor& x) {
    EXPECT_ERROR(InvalidArgument, "not one of the arguments",
                 context.mark_dirty({x.clone()}));
    context.mark_dirty({x});
    return x * 2.0;
  }
  static Tensors backward(FunctionContext&, const Tensors& grads) {
    return grads;
  }
};

// Item 91.
TEST(Function, ADirtyTensorMustBeReturned) {
  EXPECT_ERROR(AutogradError, "must be returned",
               ForgetsToReturn::apply(leaf(1) * 1.0));
}

// Two results, one of them without a gradient.
struct Mixed : Function<Mixed> {
  static Tensors forward(FunctionContext& context, const Tensor& x) {
    Tensor a = x * 1.0, b = x * 2.0;
    context.mark_non_differentiable({a});
    return {a, b};
  }
  static Tensors backward(FunctionContext&, const Tensors& grads) {
    EXPECT_THAT(values(grads[0]), Each(0));
    EXPECT_THAT(values(grads[1]), Each(1));
    return {grads[1] * 2.0};
  }
};

// Item 92.
TEST(Function, ResultsMayHaveNoGradient) {
  Tensor x = leaf({1, 2}, {2});
  const Tensors y = Mixed::apply(x);
  EXPECT_FALSE(y[0].requires_grad());
  EXPECT_TRUE(y[1].requires_grad());
  (y[0] + y[1]).sum().backward();
  EXPECT_THAT(values(x.grad()), Each(2));
}

struct TwoResults : Function<TwoResults> {
  static Tensors forward(FunctionContext&, const Tensor& x) {
    return {x * 2.0, x * 3.0};
  }
  static Tensors backward(FunctionContext&, const Tensors& grads) {
    return {grads[0] * 2.0 + grads[1] * 3.0};
  }
};

TEST(Function, EachResultHasAGradientOfItsOwn) {
  const Tensors y = TwoResults::apply(leaf({1, 2}, {2}));
  const Tensors grads =
      autograd::grad({(y[0] * 5.0 + y[1] * 7.0).sum()}, {y[1], y[0]});
  EXPECT_THAT(values(grads[0]), Each(7));
  EXPECT_THAT(values(grads[1]), Each(5));
}

template <bool kMaterialize>
struct Sees : Function<Sees<kMaterialize>> {
  static Tensors forward(FunctionContext& context, const Tensor& x) {
    context.set_materialize_grads(kMaterialize);
    return {x * 1.0, x * 1.0};
  }
  static Tensors backward(FunctionContext&, const Tensors& grads) {
    EXPECT_EQ(grads[1].defined(), kMaterialize);
    if (kMaterialize) {
      EXPECT_THAT(values(grads[1]), Each(0));
    }
    return {grads[0]};
  }
};

// Item 93.
TEST(Function, MissingGradientsAreZerosOrUndefined) {
  Tensor x = leaf({1, 2}, {2});
  Sees<true>::apply(x)[0].sum().backward();
  Sees<false>::apply(x)[0].sum().backward();
  EXPECT_THAT(values(x.grad()), Each(2));
}

struct AsksNeedsInputGrad : Function<AsksNeedsInputGrad> {
  static Tensor forward(FunctionContext& context, const Tensor& a,
                        const Tensor& b, int) {
    EXPECT_TRUE(context.needs_input_grad(0));
    EXPECT_FALSE(context.needs_input_grad(1));
    EXPECT_FALSE(context.needs_input_grad(2));
    return a * b;
  }
  static Tensors backward(FunctionContext& context, const Tensors& grads) {
    EXPECT_TRUE(context.needs_input_grad(0));
    EXPECT_FALSE(context.needs_input_grad(1));
    return {grads[0], grads[0], Tensor()};
  }
};

// Item 94.
TEST(Function, KnowsWhichArgumentsNeedAGradient) {
  Tensor a = leaf(1);
  AsksNeedsInputGrad::apply(a, constant(2), 3).backward();
  EXPECT_EQ(value(a.grad()), 1);
}

struct Once : Function<Once> {
  static constexpr bool kOnceDifferentiable = true;
  static Tensor forward(FunctionContext& context, const Tensor& x) {
    context.save_for_backward({x});
    return x * x;
  }
  static Tensors backward(FunctionContext& context, const Tensors& grads) {
    EXPECT_FALSE(is_grad_enabled());
    return {grads[0] * context.saved_tensors()[0] * 2.0};
  }
};

// Item 95.
TEST(Function, AOnceDifferentiableOneRefusesASecondDerivative) {
  Tensor x = leaf(3);
  const Tensor slope =
      autograd::grad({Once::apply(x)}, {x}, {}, {.create_graph = true})[0];
  EXPECT_EQ(value(slope), 6);
  EXPECT_ERROR(AutogradError, "differentiate twice", slope.backward());
  Once::apply(x).backward();
  EXPECT_EQ(value(x.grad()), 6);
}

struct Twins : Function<Twins> {
  static Tensors forward(FunctionContext&, const Tensor& x) {
    Tensor y = x * 2.0;
    return {y, y};
  }
  static Tensors backward(FunctionContext&, const Tensors& grads) {
    return {grads[0] * 2.0 + grads[1] * 2.0};
  }
};

// Item 96.
TEST(Function, AResultReturnedTwiceIsOneTensor) {
  Tensor x = leaf(3);
  const Tensors y = Twins::apply(x);
  EXPECT_TRUE(y[0].is_same(y[1]));
  (y[0] + y[1] * 3.0).backward();
  EXPECT_EQ(value(x.grad()), 8);
}

struct Swish : Function<Swish> {
  static Tensor forward(FunctionContext& context, const Tensor& x) {
    context.save_for_backward({x});
    return x * sigmoid(x);
  }
  static Tensors backward(FunctionContext& context, const Tensors& grads) {
    const Tensor x = context.saved_tensors()[0];
    const Tensor s = sigmoid(x);
    return {grads[0] * (s + x * s * (1.0 - s))};
  }
};

// Item 98.
TEST(Function, AFusedOneSavesLess) {
  Tensor x = randn64({100});
  const std::int64_t before = autograd::saved_tensor_bytes();
  {
    Tensor fused = Swish::apply(x);
    EXPECT_EQ(autograd::saved_tensor_bytes() - before, 800);
    Tensor composite = x * sigmoid(x);
    EXPECT_GE(autograd::saved_tensor_bytes() - before, 800 + 1600);
  }
  const auto swish = [](const Tensors& in) {
    return Tensors{Swish::apply(in[0])};
  };
  autograd::gradgradcheck(swish, {randn64({3})});
}

template <int kCase>
struct Wrong : Function<Wrong<kCase>> {
  static Tensor forward(FunctionContext&, const Tensor& x, int) {
    return x * 2.0;
  }
  static Tensors backward(FunctionContext&, const Tensors& grads) {
    if (kCase == 0) return {grads[0]};
    if (kCase == 1) return {grads[0], grads[0]};
    return {ones64({3, 3}), Tensor()};
  }
};

// Item 32.
TEST(Function, ItsGradientsAreChecked) {
  Tensor x = leaf({1, 2}, {2});
  EXPECT_ERROR(AutogradError, "incorrect number of gradients (expected 2, got",
               Wrong<0>::apply(x, 1).sum().backward());
  EXPECT_ERROR(AutogradError, "took no tensor",
               Wrong<1>::apply(x, 1).sum().backward());
  EXPECT_ERROR(AutogradError, "expected shape",
               Wrong<2>::apply(x, 1).sum().backward());
}

struct SumOfMany : Function<SumOfMany> {
  static Tensor forward(FunctionContext& context, const Tensors& all) {
    context.saved_data["n"] = all.size();
    Tensor total = all[0];
    for (std::size_t i = 1; i < all.size(); ++i) total = total + all[i];
    return total;
  }
  static Tensors backward(FunctionContext& context, const Tensors& grads) {
    return Tensors(std::any_cast<std::size_t>(context.saved_data["n"]),
                   grads[0]);
  }
};

TEST(Function, AVectorOfTensorsCountsAsItsElements) {
  Tensor a = leaf(1), b = leaf(2);
  SumOfMany::apply(Tensors{a, b, constant(3), a}).backward();
  EXPECT_EQ(value(a.grad()), 2);
  EXPECT_EQ(value(b.grad()), 1);
}

TEST(Function, IsNamedAfterItsType) {
  for (const auto& [signature, name] :
       std::vector<std::pair<std::string, std::string>>{
           {"std::string_view signature_of() [with T = Cube; std::string_view "
            "= std::basic_string_view<char>]",
            "CubeBackward"},
           {"std::string_view signature_of() [T = (anonymous namespace)::Cube]",
            "CubeBackward"},
           {"view f() [with T = a::test()::Cube<b::C, int [2]>; view = x]",
            "Cube<b::C, int [2]>Backward"},
           {"what no compiler says", "what no compiler saysBackward"}}) {
    EXPECT_EQ(backward_name(signature), name);
  }
  struct Local {};
  EXPECT_EQ(backward_name(signature_of<Local>()), "LocalBackward");
  EXPECT_EQ(backward_name(signature_of<std::vector<Local>>()).substr(0, 7),
            "vector<");
}

}  // namespace
}  // namespace hvd
