// SPDX-License-Identifier: Apache-2.0
// An operation that no instruction set has.
#include "horovodpp/collective/reduce/vector_combine.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace hvd {

constexpr auto kStrangeOp = static_cast<ReduceOp>(200);

template <>
struct Combine<kStrangeOp> {
  static constexpr bool kFits = true;
  template <typename A>
  static constexpr A apply(A a, A b) {
    return static_cast<A>(a + a - b);
  }
};

}  // namespace hvd

HWY_BEFORE_NAMESPACE();
namespace hvd::collective::HWY_NAMESPACE {
namespace {

template <class D>
void expect_lane_by_lane(D d) {
  using Lane = hn::TFromD<D>;
  const std::size_t count = hn::Lanes(d);
  std::vector<Lane> a(count);
  std::vector<Lane> b(count);
  std::vector<Lane> result(count);
  for (std::size_t i = 0; i < count; ++i) {
    a[i] = static_cast<Lane>(3 * i + 1);
    b[i] = static_cast<Lane>(i + 2);
  }
  hn::StoreU(VectorCombine<kStrangeOp>::apply(hn::LoadU(d, a.data()),
                                              hn::LoadU(d, b.data())),
             d, result.data());
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_EQ(result[i], Combine<kStrangeOp>::apply(a[i], b[i])) << i;
  }
}

template <typename Lane>
void expect_of_every_width() {
  expect_lane_by_lane(hn::ScalableTag<Lane>());
  expect_lane_by_lane(hn::CappedTag<Lane, 16 / sizeof(Lane)>());
  expect_lane_by_lane(hn::CappedTag<Lane, 1>());
  static_assert(!VectorCombine<kStrangeOp>::kHasForm<Lane>);
}

TEST(VectorCombine, GoesLaneByLaneWithoutAnInstruction) {
  expect_of_every_width<float>();
  expect_of_every_width<double>();
  expect_of_every_width<std::uint8_t>();
  expect_of_every_width<std::int32_t>();
}

}  // namespace
}  // namespace hvd::collective::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
