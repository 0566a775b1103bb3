// SPDX-License-Identifier: Apache-2.0
// Operations on each element: the same values on the CPU and on a GPU.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "horovodpp/core/error.h"
#include "test/tensor/gpu/on_gpu.h"

namespace hvd {
namespace {

using testing::expect_same_bits;
using testing::kAllTypes;
using testing::layouts_of;

class GpuElementsTest : public testing::OnGpu {
 protected:
  // f of the operands on the CPU and on the GPU.
  template <typename F, typename... Operands>
  void expect_alike(const std::string& what, F f, const Operands&... operands) {
    const Tensor there = f(operands.to(gpu_)...);
    EXPECT_EQ(there.device(), gpu_) << what;
    expect_same_bits(there, f(operands...), what);
  }
};

using Unary = std::function<Tensor(const Tensor&)>;
using Binary = std::function<Tensor(const Tensor&, const Tensor&)>;

struct NamedUnary {
  const char* name;
  Unary f;
};
struct NamedBinary {
  const char* name;
  Binary f;
};

const std::vector<NamedBinary>& binaries() {
  static const std::vector<NamedBinary> all = {
      {"add", [](const Tensor& a, const Tensor& b) { return a + b; }},
      {"sub", [](const Tensor& a, const Tensor& b) { return a - b; }},
      {"mul", [](const Tensor& a, const Tensor& b) { return a * b; }},
      {"div", [](const Tensor& a, const Tensor& b) { return a / b; }},
      {"eq", [](const Tensor& a, const Tensor& b) { return eq(a, b); }},
      {"ne", [](const Tensor& a, const Tensor& b) { return ne(a, b); }},
      {"lt", [](const Tensor& a, const Tensor& b) { return lt(a, b); }},
      {"le", [](const Tensor& a, const Tensor& b) { return le(a, b); }},
      {"gt", [](const Tensor& a, const Tensor& b) { return gt(a, b); }},
      {"ge", [](const Tensor& a, const Tensor& b) { return ge(a, b); }}};
  return all;
}

// Functions whose loop on the CPU rounds as the functor.
const std::vector<NamedUnary>& exact() {
  static const std::vector<NamedUnary> all = {
      {"neg", [](const Tensor& x) { return -x; }},
      {"abs", [](const Tensor& x) { return abs(x); }},
      {"relu", [](const Tensor& x) { return relu(x); }},
      {"leaky_relu", [](const Tensor& x) { return leaky_relu(x, 0.1); }},
      {"sqrt", [](const Tensor& x) { return sqrt(x); }},
      {"rsqrt", [](const Tensor& x) { return rsqrt(x); }},
      {"floor", [](const Tensor& x) { return floor(x); }},
      {"ceil", [](const Tensor& x) { return ceil(x); }},
      {"round", [](const Tensor& x) { return round(x); }},
      {"sign", [](const Tensor& x) { return sign(x); }},
      {"square", [](const Tensor& x) { return pow(x, 2.0); }},
      {"cube", [](const Tensor& x) { return pow(x, 3.0); }},
      {"clamp", [](const Tensor& x) { return clamp(x, -1.0, 2.0); }},
      {"+ 3", [](const Tensor& x) { return x + 3.0; }},
      {"* 3", [](const Tensor& x) { return x * 3.0; }},
      {"/ 3", [](const Tensor& x) { return x / 3.0; }},
      {"3 -", [](const Tensor& x) { return 3.0 - x; }},
      {"3 /", [](const Tensor& x) { return 3.0 / x; }},
      {"< 1.5", [](const Tensor& x) { return lt(x, 1.5); }},
      {"== 1", [](const Tensor& x) { return eq(x, 1.0); }}};
  return all;
}

// Functions whose loop on the CPU approximates within some units in the last
// place, as a GPU does.
const std::vector<NamedUnary>& approximate() {
  static const std::vector<NamedUnary> all = {
      {"exp", [](const Tensor& x) { return exp(x); }},
      {"log", [](const Tensor& x) { return log(abs(x)); }},
      {"sin", [](const Tensor& x) { return sin(x); }},
      {"cos", [](const Tensor& x) { return cos(x); }},
      {"tanh", [](const Tensor& x) { return tanh(x); }},
      {"sigmoid", [](const Tensor& x) { return sigmoid(x); }},
      {"erf", [](const Tensor& x) { return erf(x); }},
      {"gelu", [](const Tensor& x) { return gelu(x); }},
      {"gelu_tanh", [](const Tensor& x) { return gelu(x, GeluForm::kTanh); }},
      {"silu", [](const Tensor& x) { return silu(x); }}};
  return all;
}

// Numbers of both signs, zeros, infinities and NaN.
Tensor special() {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  return from_vector<float>(
      {0.0f, -0.0f, 1.0f, -1.0f, 1.5f, -2.5f, 2.0f, kInf, -kInf, kNan, 1e-40f,
       3e38f, -300.7f, 1e9f, 70000.0f},
      {3, 5});
}

TEST_F(GpuElementsTest, BinaryOperationsHaveTheBitsOfTheCpu) {
  const Tensor a = randn({4, 6, 5}) * 5.0;
  const Tensor b = randn({4, 6, 5}) * 5.0;
  for (const DType dtype : kAllTypes) {
    for (const auto& [name, f] : binaries()) {
      if (dtype == DType::kBool && std::string(name) == "sub") continue;
      const std::string what = std::string(name_of(dtype)) + " " + name;
      const Tensor x = a.to(dtype);
      const Tensor y = b.to(dtype);
      expect_alike(what, f, x, y);
      expect_alike(what + " of a row", f, x, y.select(0, 1).select(0, 1));
      expect_alike(what + " of columns", f, x.narrow(2, 1, 1),
                   y.transpose(0, 1).narrow(0, 2, 1).reshape({4, 1, 5}));
    }
  }
  expect_alike("of two dtypes", binaries()[0].f, a.to(DType::kI32), b);
}

TEST_F(GpuElementsTest, TakesAnyStrides) {
  const Tensor a = randn({4, 6, 5});
  const auto here = layouts_of(a);
  const auto there = layouts_of(a.to(gpu_));
  for (std::size_t i = 0; i < here.size(); ++i) {
    const auto f = [](const Tensor& x) { return relu(x * x + x); };
    expect_same_bits(f(there[i].x), f(here[i].x), here[i].name);
    // In place, on one view alone.
    if (here[i].name == "expanded") continue;
    const Tensor other = a.clone();
    const Tensor other_there = other.to(gpu_);
    layouts_of(other)[i].x.add_(here[i].x, 0.3);
    layouts_of(other_there)[i].x.add_(there[i].x, 0.3);
    expect_same_bits(other_there, other, here[i].name + " in place");
  }
}

TEST_F(GpuElementsTest, ExactFunctionsHaveTheBitsOfTheCpu) {
  for (const DType dtype :
       {DType::kF32, DType::kF64, DType::kF16, DType::kBF16}) {
    const Tensor x = randn({7, 9}).to(dtype);
    for (const auto& [name, f] : exact()) {
      expect_alike(std::string(name_of(dtype)) + " " + name, f, x);
    }
  }
  // NaNs of a function need not have the same bits: they are compared as NaNs.
  const auto f = [](const Tensor& x) {
    return eq(relu(abs(x) * 2.0 - x), 0.0);
  };
  expect_alike("special numbers", f, special());
}

TEST_F(GpuElementsTest, OtherFunctionsAreCloseToTheCpus) {
  const Tensor x = randn({20, 30});
  for (const auto& [name, f] : approximate()) {
    const std::vector<float> here = f(x).to_vector<float>();
    const std::vector<float> there = f(x.to(gpu_)).to_vector<float>();
    for (std::size_t i = 0; i < here.size(); ++i) {
      // Cancellation near zero leaves an absolute error.
      ASSERT_NEAR(there[i], here[i], 1e-6f + 1e-6f * std::abs(here[i]))
          << name << " of " << x.to_vector<float>()[i];
    }
    expect_alike(std::string(name) + " in double", f, x.to(DType::kF64));
  }
}

TEST_F(GpuElementsTest, EveryConversionHasTheBitsOfTheCpu) {
  const Tensor numbers = special().narrow(1, 0, 4);
  for (const DType from : kAllTypes) {
    const Tensor x = (numbers * 3.0).to(from);
    for (const DType to : kAllTypes) {
      const std::string what =
          std::string(name_of(from)) + " to " + std::string(name_of(to));
      const auto f = [to](const Tensor& in) { return in.to(to); };
      expect_alike(what, f, x);
      expect_alike(what + ", transposed", f, x.t());
    }
  }
  // Each way takes NaN to 0, and saturates.
  for (const DType to : {DType::kI8, DType::kI64, DType::kU8, DType::kBool}) {
    for (const DType from : {DType::kF32, DType::kF64, DType::kBF16}) {
      expect_alike(
          "special numbers", [to](const Tensor& x) { return x.to(to); },
          special().to(from));
    }
  }
}

TEST_F(GpuElementsTest, AnAffineLayerLearnsWithTheBitsOfTheCpu) {
  const auto gradients = [&](Device device) {
    std::vector<Tensor> leaves;
    for (const Tensor& start :
         {arange(0, 60, 1, {.dtype = DType::kF32}).reshape({12, 5}) * 0.1 - 2.0,
          arange(0, 60, 1, {.dtype = DType::kF32}).reshape({12, 5}) * -0.03,
          arange(0, 60, 1, {.dtype = DType::kF32}).reshape({12, 5}) * 0.7}) {
      leaves.push_back(start.to(device).detach().set_requires_grad(true));
    }
    for (int step = 0; step < 3; ++step) {
      const Tensor y = relu(leaves[0] * leaves[1] + leaves[2]);
      y.backward(ones_like(y));
      for (const Tensor& leaf : leaves) {
        leaf.data().add_(leaf.grad(), -0.1);
      }
    }
    std::vector<Tensor> all = leaves;
    for (const Tensor& leaf : leaves) all.push_back(leaf.grad());
    return all;
  };
  const std::vector<Tensor> here = gradients(Device::cpu());
  const std::vector<Tensor> there = gradients(gpu_);
  for (std::size_t i = 0; i < here.size(); ++i) {
    EXPECT_EQ(there[i].device(), gpu_);
    expect_same_bits(there[i].detach(), here[i].detach(),
                     "tensor " + std::to_string(i));
  }
}

TEST_F(GpuElementsTest, DerivativesHaveTheBitsOfTheCpu) {
  const auto slope = [&](const Unary& f, Device device) {
    const Tensor x = (arange(0, 40, 1, {.dtype = DType::kF64}) * 0.11 - 2.0)
                         .to(device)
                         .detach()
                         .set_requires_grad(true);
    const Tensor y = f(x);
    y.backward(full({40}, 0.7, {.dtype = DType::kF64, .device = device}));
    return x.grad();
  };
  std::vector<NamedUnary> all = approximate();
  for (const auto& one : exact()) {
    if (one.f(ones({1})).dtype() != DType::kBool) all.push_back(one);
  }
  for (const auto& [name, f] : all) {
    const std::string text = name;
    if (text == "floor" || text == "ceil" || text == "round" ||
        text == "sign") {
      continue;
    }
    expect_same_bits(slope(f, gpu_), slope(f, Device::cpu()), text);
  }
}

// Operations that only move elements, with their derivatives.
TEST_F(GpuElementsTest, PartsAndShiftsHaveTheBitsOfTheCpu) {
  const std::vector<NamedUnary> all = {
      {"cat",
       [](const Tensor& x) {
         return cat({x, x * 2.0}, 1);
       }},
      {"stack",
       [](const Tensor& x) {
         return stack({x, x + 1.0}, 0);
       }},
      {"flip",
       [](const Tensor& x) {
         return flip(x, {0, 2});
       }},
      {"roll",
       [](const Tensor& x) {
         return roll(x, {1, 2}, {0, 1});
       }},
      {"pad",
       [](const Tensor& x) {
         return pad(x, {1, 2});
       }},
      {"narrow", [](const Tensor& x) { return x.narrow(1, 2, 3); }},
      {"select", [](const Tensor& x) { return x.select(2, 4); }},
      {"slice", [](const Tensor& x) { return x.slice(1, 0, 6, 2); }},
      {"split", [](const Tensor& x) { return x.split(2, 1)[1]; }},
      {"permute",
       [](const Tensor& x) {
         return x.permute({2, 0, 1});
       }},
      {"reshape",
       [](const Tensor& x) {
         return x.transpose(0, 2).reshape({30, 4});
       }},
      {"copy_", [](const Tensor& x) { return zeros_like(x).copy_(x); }}};
  const Tensor start = randn({4, 6, 5});
  for (const auto& [name, f] : all) {
    const auto results = [&, &f = f](Device device) {
      const Tensor x = start.to(device).detach().set_requires_grad(true);
      const Tensor y = f(x);
      y.backward(y.detach() * 0.5);
      return std::vector<Tensor>{y.detach(), x.grad()};
    };
    const std::vector<Tensor> here = results(Device::cpu());
    const std::vector<Tensor> there = results(gpu_);
    for (std::size_t i = 0; i < here.size(); ++i) {
      EXPECT_EQ(there[i].device(), gpu_) << name;
      expect_same_bits(there[i], here[i], name);
    }
  }
  EXPECT_THROW(cat({start, start.to(gpu_)}), InvalidArgument);
  EXPECT_THROW(cat({start.to(gpu_), start}), InvalidArgument);
}

TEST_F(GpuElementsTest, FillsAndRefusesAsTheCpuDoes) {
  for (const DType dtype : kAllTypes) {
    const Tensor x = zeros({3, 4}, {.dtype = dtype, .device = gpu_});
    x.t().narrow(0, 1, 2).fill_(1.0);
    const Tensor here = zeros({3, 4}, {.dtype = dtype});
    here.t().narrow(0, 1, 2).fill_(1.0);
    expect_same_bits(x, here, std::string(name_of(dtype)));
  }
  const Tensor integers = ones({2}, {.dtype = DType::kI32, .device = gpu_});
  const Tensor bools = ones({2}, {.dtype = DType::kBool, .device = gpu_});
  EXPECT_THROW(neg(bools), InvalidArgument);
  EXPECT_THROW(integers.fill_(0.5), InvalidArgument);
  EXPECT_THROW(ones({2}, {.device = gpu_}) + ones({3}, {.device = gpu_}),
               InvalidArgument);
}

}  // namespace
}  // namespace hvd
