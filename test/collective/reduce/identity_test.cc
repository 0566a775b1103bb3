// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/reduce/identity.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

#include "horovodpp/collective/reduce/kernel.h"
#include "test/collective/reference.h"

namespace hvd::collective {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <typename T>
std::vector<T> telling_values() {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_same_v<T, bool>) {
    return {false, true};
  } else if constexpr (std::is_integral_v<T>) {
    return {Limits::min(), Limits::max(), T(0), T(1), T(3), T(-1), T(100)};
  } else {
    std::vector<T> values;
    for (const float v :
         {0.0f, -0.0f, 1.0f, -1.0f, 0.3f, -7.5f, 60000.0f, -60000.0f, 1e-7f,
          static_cast<float>(kInfinity), -static_cast<float>(kInfinity)}) {
      values.push_back(T(v));
    }
    return values;
  }
}

// Whether reducing `value` together with identities gives the same bits as
// reducing it alone. The sign of a zero may differ for min and max. Both divide
// by the same number of ranks.
template <typename T>
bool leaves_alone(Reduction reduction, T value) {
  reduction.participants = 1;
  T identity{};
  fill_identity(reduction, &identity, 1);
  const ReduceKernel kernel(reduction, 1);
  T alone{};
  T among{};
  const void* one[] = {&value};
  kernel.reduce(one, &alone, 1);
  bool same = true;
  for (const std::vector<const void*>& inputs :
       {std::vector<const void*>{&value, &identity},
        {&identity, &value},
        {&identity, &identity, &value, &identity}}) {
    kernel.reduce(inputs, &among, 1);
    const bool zeros =
        get(reduction.dtype, &alone, 0) == 0 &&
        get(reduction.dtype, &among, 0) == 0 &&
        (reduction.op == ReduceOp::kMin || reduction.op == ReduceOp::kMax);
    same = same && (zeros || std::memcmp(&alone, &among, sizeof(T)) == 0);
  }
  return same;
}

TEST(Identity, ChangesNoReduction) {
  for (const DType dtype : kAllDTypes) {
    for (const ReduceOp op : kAllOps) {
      for (const double prescale :
           {1.0, -1.0, 0.5, -0.25, 2.0, 3.0, -3.0, 1.0 / 49, 0.3, 1e-300}) {
        for (const double postscale : {1.0, 3.0}) {
          const Reduction reduction = {dtype, op, prescale, postscale};
          if (!check(reduction).ok() || !check_identity(reduction).ok()) {
            continue;
          }
          visit(dtype, [&]<typename T>(TypeTag<T>) {
            for (const T value : telling_values<T>()) {
              EXPECT_TRUE(leaves_alone(reduction, value))
                  << describe(reduction) << " of " << get(dtype, &value, 0);
            }
          });
        }
      }
    }
  }
}

TEST(Identity, ExistsForAllButSomeProducts) {
  for (const DType dtype : kAllDTypes) {
    for (const ReduceOp op : kAllOps) {
      for (const double prescale : {1.0, -1.0, 0.5, 3.0, 0.0}) {
        const Reduction reduction = {dtype, op, prescale, 1.0};
        if (!check(reduction).ok()) continue;
        if (op != ReduceOp::kProduct || prescale == 1.0) {
          EXPECT_TRUE(check_identity(reduction).ok()) << describe(reduction);
        }
      }
    }
  }
  const auto product = [](DType dtype, double prescale) {
    return check_identity({dtype, ReduceOp::kProduct, prescale}).code();
  };
  for (const double prescale : {2.0, -0.25, 3.0, 49.0, 1.0 / 3}) {
    EXPECT_EQ(product(DType::kF64, prescale), absl::StatusCode::kOk)
        << prescale;
  }
  EXPECT_EQ(product(DType::kF16, 0.5), absl::StatusCode::kOk);
  EXPECT_EQ(product(DType::kF16, 3.0), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(product(DType::kI32, 0.3), absl::StatusCode::kOk);
  EXPECT_EQ(product(DType::kI32, 1.0 / 49), absl::StatusCode::kOk);
  EXPECT_EQ(product(DType::kI32, -1.0), absl::StatusCode::kOk);
  EXPECT_EQ(product(DType::kU8, -1.0), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(product(DType::kI32, 2.0), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(product(DType::kI8, 0.001), absl::StatusCode::kInvalidArgument);
  for (const DType dtype : {DType::kF32, DType::kI32}) {
    EXPECT_EQ(product(dtype, 0.0), absl::StatusCode::kInvalidArgument);
  }
}

TEST(Identity, SumsWithANonFinitePrescaleHaveNone) {
  EXPECT_FALSE(check_identity({DType::kF32, ReduceOp::kSum, kInfinity}).ok());
  EXPECT_FALSE(check_identity({DType::kF32, ReduceOp::kAverage, 1e300}).ok());
  EXPECT_TRUE(check_identity({DType::kF64, ReduceOp::kAverage, 1e300}).ok());
  EXPECT_TRUE(check_identity({DType::kI32, ReduceOp::kSum, kInfinity}).ok());
}

TEST(Identity, FillsTheRequestedCount) {
  std::vector<std::int16_t> data(5, 7);
  fill_identity({.dtype = DType::kI16, .op = ReduceOp::kMin}, data.data(), 4);
  const std::int16_t most = std::numeric_limits<std::int16_t>::max();
  EXPECT_EQ(data, (std::vector<std::int16_t>{most, most, most, most, 7}));
  fill_identity({.dtype = DType::kI16, .op = ReduceOp::kMin}, nullptr, 0);
}

TEST(Identity, OfBoolIsTrueForAndFalseForOr) {
  const auto identity = [](ReduceOp op) {
    bool value = false;
    fill_identity({.dtype = DType::kBool, .op = op}, &value, 1);
    return value;
  };
  EXPECT_TRUE(identity(ReduceOp::kMin));
  EXPECT_TRUE(identity(ReduceOp::kProduct));
  EXPECT_FALSE(identity(ReduceOp::kMax));
  EXPECT_FALSE(identity(ReduceOp::kSum));
}

}  // namespace
}  // namespace hvd::collective
