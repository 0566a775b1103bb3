// SPDX-License-Identifier: Apache-2.0
// The rules of promotion, cell by cell as PyTorch's in promotion.safetensors
// (test/fixtures/make_promotion_fixtures.py).
#include "horovodpp/tensor/promotion.h"

#include <gtest/gtest.h>

#include <string>

#include "horovodpp/tensor/factories.h"
#include "test/models/same_numbers.h"

namespace hvd {
namespace {

constexpr auto kDTypes = static_cast<std::int64_t>(std::size(kAllDTypes));

DType dtype_at(std::int64_t i) {
  return kAllDTypes[static_cast<std::size_t>(i)];
}

// Compares a table of the fixture with `entry(row, column)`.
template <typename Entry>
void expect_table(const std::string& name, Entry entry) {
  static const auto fixture = read_fixture("promotion.safetensors");
  const Tensor table = fixture.at(name).to(DType::kI64);
  ASSERT_EQ(table.size(0), kDTypes);
  for (std::int64_t i = 0; i < kDTypes; ++i) {
    for (std::int64_t j = 0; j < table.size(1); ++j) {
      EXPECT_EQ(static_cast<std::int64_t>(entry(i, j)),
                table.select(0, i).select(0, j).item<std::int64_t>())
          << name << " of " << name_of(dtype_at(i)) << " and operand " << j;
    }
  }
}

Tensor of_shape(const autograd::Dims& shape, std::int64_t dtype) {
  return ones(shape, {.dtype = dtype_at(dtype)});
}

TEST(PromoteTypes, IsPyTorchs) {
  expect_table("promote_types", [](auto i, auto j) {
    return promote_types(dtype_at(i), dtype_at(j));
  });
}

TEST(CanCast, IsPyTorchs) {
  expect_table("can_cast", [](auto i, auto j) {
    return can_cast(dtype_at(i), dtype_at(j));
  });
}

TEST(ResultType, IsPyTorchsForTensors) {
  const std::map<std::string, autograd::Dims> shapes = {{"dims", {2}},
                                                        {"zero_dim", {}}};
  for (const auto& [a, a_shape] : shapes) {
    for (const auto& [b, b_shape] : shapes) {
      expect_table("result_type." + a + "." + b,
                   [&, a_shape = a_shape, b_shape = b_shape](auto i, auto j) {
                     return result_type(of_shape(a_shape, i),
                                        of_shape(b_shape, j));
                   });
    }
  }
}

TEST(ResultType, IsPyTorchsForNumbers) {
  const Scalar numbers[] = {true, 2, 2.5};
  expect_table("result_type.dims.number", [&](auto i, auto j) {
    return result_type(of_shape({2}, i), numbers[j]);
  });
  expect_table("result_type.zero_dim.number", [&](auto i, auto j) {
    return result_type(of_shape({}, i), numbers[j]);
  });
}

TEST(ResultType, CombinesManyTensorsAndIgnoresUndefinedOnes) {
  EXPECT_EQ(result_type(std::vector<Tensor>()), DType::kBool);
  EXPECT_EQ(result_type({of_shape({2}, 1), Tensor(), of_shape({}, 7)}),
            DType::kF32);
}

}  // namespace
}  // namespace hvd
