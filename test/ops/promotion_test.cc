// SPDX-License-Identifier: Apache-2.0
// Operations on two tensors have the dtypes, values and gradients of PyTorch for
// all pairs of dtypes: promotion.safetensors, which
// test/fixtures/make_promotion_fixtures.py makes.
#include "horovodpp/tensor/promotion.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "horovodpp/core/error.h"
#include "horovodpp/ops.h"
#include "test/models/same_numbers.h"

namespace hvd {
namespace {

using Binary = std::function<Tensor(const Tensor&, const Tensor&)>;
using WithNumber = std::function<Tensor(const Tensor&, Scalar)>;
using InPlace = std::function<void(const Tensor&, const Tensor&)>;

struct Operation {
  Binary run;
  WithNumber with_number = {};
  InPlace in_place = {};
};

const std::vector<double> kA = {-7, -3, -1, 0, 1, 2, 5, 6};
const std::vector<double> kB = {2, -2, 3, 3, -3, 2, 5, 1};
const std::vector<double> kWeights = {1, 2, -1, 3, 0.5, 1, 2, -2};
constexpr std::int64_t kRefused = -1;

Tensor signs() {
  return gt(from_vector<float>({1, 0, 1, 0, 1, 0, 1, 0}, {8}), 0.0);
}

#define HVD_BINARY(name) \
  [](const Tensor& a, const Tensor& b) { return name(a, b); }
#define HVD_NUMBER(name) [](const Tensor& a, Scalar b) { return name(a, b); }
#define HVD_NUMBER_AS_DOUBLE(name) \
  [](const Tensor& a, Scalar b) { return name(a, b.value()); }
#define HVD_WRITING(name) [](const Tensor& a, const Tensor& b) { name(a, b); }
#define HVD_IN_PLACE(name) [](const Tensor& a, const Tensor& b) { a.name(b); }

std::map<std::string, Operation> operations() {
  return {
      {"add", {HVD_BINARY(add), HVD_NUMBER(add), HVD_IN_PLACE(add_)}},
      {"sub", {HVD_BINARY(sub), HVD_NUMBER(sub), HVD_IN_PLACE(sub_)}},
      {"mul", {HVD_BINARY(mul), HVD_NUMBER(mul), HVD_IN_PLACE(mul_)}},
      {"div", {HVD_BINARY(div), HVD_NUMBER(div), HVD_WRITING(div_)}},
      {"pow", {HVD_BINARY(pow), HVD_NUMBER(pow), HVD_WRITING(pow_)}},
      {"remainder",
       {HVD_BINARY(remainder), HVD_NUMBER(remainder), HVD_WRITING(remainder_)}},
      {"fmod", {HVD_BINARY(fmod), HVD_NUMBER(fmod), HVD_WRITING(fmod_)}},
      {"floor_divide",
       {HVD_BINARY(floor_divide), HVD_NUMBER(floor_divide),
        HVD_WRITING(floor_divide_)}},
      {"maximum", {HVD_BINARY(maximum)}},
      {"minimum", {HVD_BINARY(minimum)}},
      {"fmax", {HVD_BINARY(fmax)}},
      {"fmin", {HVD_BINARY(fmin)}},
      {"atan2", {HVD_BINARY(atan2), {}, HVD_WRITING(atan2_)}},
      {"hypot", {HVD_BINARY(hypot), {}, HVD_WRITING(hypot_)}},
      {"logical_and", {HVD_BINARY(logical_and), {}, HVD_WRITING(logical_and_)}},
      {"logical_or", {HVD_BINARY(logical_or), {}, HVD_WRITING(logical_or_)}},
      {"logical_xor", {HVD_BINARY(logical_xor), {}, HVD_WRITING(logical_xor_)}},
      {"bitwise_and",
       {HVD_BINARY(bitwise_and), HVD_NUMBER(bitwise_and),
        HVD_WRITING(bitwise_and_)}},
      {"bitwise_or",
       {HVD_BINARY(bitwise_or), HVD_NUMBER(bitwise_or),
        HVD_WRITING(bitwise_or_)}},
      {"bitwise_xor",
       {HVD_BINARY(bitwise_xor), HVD_NUMBER(bitwise_xor),
        HVD_WRITING(bitwise_xor_)}},
      {"bitwise_left_shift",
       {HVD_BINARY(bitwise_left_shift), HVD_NUMBER(bitwise_left_shift),
        HVD_WRITING(bitwise_left_shift_)}},
      {"bitwise_right_shift",
       {HVD_BINARY(bitwise_right_shift), HVD_NUMBER(bitwise_right_shift),
        HVD_WRITING(bitwise_right_shift_)}},
      {"eq", {HVD_BINARY(eq), HVD_NUMBER_AS_DOUBLE(eq)}},
      {"ne", {HVD_BINARY(ne), HVD_NUMBER_AS_DOUBLE(ne)}},
      {"lt", {HVD_BINARY(lt), HVD_NUMBER_AS_DOUBLE(lt)}},
      {"le", {HVD_BINARY(le), HVD_NUMBER_AS_DOUBLE(le)}},
      {"gt", {HVD_BINARY(gt), HVD_NUMBER_AS_DOUBLE(gt)}},
      {"ge", {HVD_BINARY(ge), HVD_NUMBER_AS_DOUBLE(ge)}},
      {"cat", {[](const Tensor& a, const Tensor& b) {
         return cat({a, b}, 0);
       }}},
      {"where",
       {[](const Tensor& a, const Tensor& b) { return where(signs(), a, b); },
        [](const Tensor& a, Scalar b) { return where(signs(), a, b); }}},
  };
}

const std::map<std::string, Tensor>& promotions() {
  static const auto file = read_fixture("promotion.safetensors");
  return file;
}

Tensor as_dtype(std::vector<double> values, DType dtype) {
  if (dtype == DType::kU8) {
    for (double& value : values) value = std::abs(value);
  }
  return from_vector(values, {static_cast<std::int64_t>(values.size())})
      .to(dtype);
}

Tensor differentiable(const std::vector<double>& values, DType dtype) {
  Tensor x = as_dtype(values, dtype);
  if (is_floating_point(dtype)) x.set_requires_grad(true);
  return x;
}

// The number of the result's dtype, or kRefused.
template <typename Run>
std::int64_t dtype_of_result(Run run) {
  try {
    return static_cast<std::int64_t>(run().dtype());
  } catch (const InvalidArgument&) {
    return kRefused;
  }
}

// Calls f(row, column, cell) for the cells of a table, if the fixture has it.
template <typename F>
void for_each_cell(const std::string& name, F f) {
  const auto found = promotions().find(name);
  if (found == promotions().end()) return;
  const auto cells = found->second.to(DType::kI64).to_vector<std::int64_t>();
  const std::size_t columns = cells.size() / std::size(kAllDTypes);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const DType row = kAllDTypes[i / columns];
    SCOPED_TRACE(testing::Message() << name << " of " << name_of(row)
                                    << " and operand " << i % columns);
    f(row, i % columns, cells[i]);
  }
}

// Numbers of a fixture that are not there are NaN.
void expect_numbers(const Tensor& ours, const Tensor& expected, DType dtype) {
  const auto wanted = expected.to(DType::kF64).to_vector<double>();
  if (std::isnan(wanted[0])) return;
  const auto got = ours.to(DType::kF64).to_vector<double>();
  ASSERT_EQ(got.size(), wanted.size());
  const double unit = dtype == DType::kBF16  ? 1e-2
                      : dtype == DType::kF16 ? 2e-3
                                             : 2e-6;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(wanted[i]) || std::isinf(wanted[i])) {
      EXPECT_EQ(std::isnan(got[i]), std::isnan(wanted[i])) << "at " << i;
      EXPECT_EQ(std::isinf(got[i]), std::isinf(wanted[i])) << "at " << i;
      continue;
    }
    EXPECT_NEAR(got[i], wanted[i], unit * (1 + std::abs(wanted[i])))
        << "at " << i;
  }
}

void expect_gradient(const Tensor& leaf, const Tensor& expected) {
  if (std::isnan(expected.select(0, 0).item<float>())) return;
  ASSERT_TRUE(leaf.grad().defined());
  EXPECT_EQ(leaf.grad().dtype(), leaf.dtype());
  expect_numbers(leaf.grad(), expected, leaf.dtype());
}

class Promotion : public testing::TestWithParam<std::string> {
 protected:
  const Operation operation = operations().at(GetParam());
};

TEST_P(Promotion, GivesPyTorchsDTypes) {
  for_each_cell(GetParam() + ".dtype", [&](DType a, auto j, auto expected) {
    EXPECT_EQ(expected, dtype_of_result([&] {
                return operation.run(as_dtype(kA, a),
                                     as_dtype(kB, kAllDTypes[j]));
              }));
  });
  for_each_cell(GetParam() + ".zero_dim", [&](DType a, auto j, auto expected) {
    EXPECT_EQ(expected, dtype_of_result([&] {
                return operation.run(as_dtype(kA, a),
                                     as_dtype(kB, kAllDTypes[j]).select(0, 0));
              }));
  });
}

TEST_P(Promotion, GivesPyTorchsDTypesWithNumbers) {
  ASSERT_EQ(promotions().contains(GetParam() + ".number"),
            static_cast<bool>(operation.with_number));
  const Scalar numbers[] = {true, 2, 2.5};
  for_each_cell(GetParam() + ".number", [&](DType a, auto j, auto expected) {
    EXPECT_EQ(expected, dtype_of_result([&] {
                return operation.with_number(as_dtype(kA, a), numbers[j]);
              }));
  });
}

TEST_P(Promotion, GivesPyTorchsValuesAndGradients) {
  const Tensor out = promotions().at(GetParam() + ".out");
  for_each_cell(GetParam() + ".dtype", [&](DType a, auto j, auto expected) {
    if (expected == kRefused) return;
    const DType b = kAllDTypes[j];
    const Tensor x = differentiable(kA, a), y = differentiable(kB, b);
    const Tensor z = operation.run(x, y);
    const auto row = static_cast<std::int64_t>(a);
    const auto column = static_cast<std::int64_t>(b);
    expect_numbers(z, out.select(0, row).select(0, column), z.dtype());
    if (!z.requires_grad()) return;
    std::vector<double> weights = kWeights;
    if (z.num_elements() > 8) {
      weights.insert(weights.end(), kWeights.begin(), kWeights.end());
    }
    z.backward(as_dtype(weights, z.dtype()));
    constexpr auto kFirst = static_cast<std::int64_t>(DType::kF16);
    if (x.requires_grad()) {
      expect_gradient(x, promotions()
                             .at(GetParam() + ".grad0")
                             .select(0, row - kFirst)
                             .select(0, column));
    }
    if (y.requires_grad()) {
      expect_gradient(y, promotions()
                             .at(GetParam() + ".grad1")
                             .select(0, row)
                             .select(0, column - kFirst));
    }
  });
}

TEST_P(Promotion, WritesInPlaceWherePyTorchDoes) {
  ASSERT_EQ(promotions().contains(GetParam() + ".inplace"),
            static_cast<bool>(operation.in_place));
  for_each_cell(GetParam() + ".inplace", [&](DType a, auto j, auto allowed) {
    const Tensor x = as_dtype(kA, a), y = as_dtype(kB, kAllDTypes[j]);
    if (allowed == 0) {
      EXPECT_THROW(operation.in_place(x, y), InvalidArgument);
      EXPECT_EQ(x.version(), as_dtype(kA, a).version());
      return;
    }
    const Tensor expected = operation.run(x, y).to(a);
    operation.in_place(x, y);
    EXPECT_EQ(x.to(DType::kF64).to_string(),
              expected.to(DType::kF64).to_string());
  });
}

INSTANTIATE_TEST_SUITE_P(, Promotion, testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const auto& [name, operation] : operations()) {
                             names.push_back(name);
                           }
                           return names;
                         }()),
                         [](const auto& test) { return test.param; });

TEST(Promotions, OfTheFixtureAreAllTested) {
  for (const auto& [key, table] : promotions()) {
    const std::string name = key.substr(0, key.find('.'));
    if (key.ends_with(".dtype")) {
      EXPECT_TRUE(operations().contains(name)) << name << " has no mirror here";
    }
  }
}

}  // namespace
}  // namespace hvd
