// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/distributed/checksum.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

#include "horovodpp/tensor/factories.h"

namespace hvd::optim {
namespace {

TEST(Checksum, DistinguishesEveryBit) {
  for (const std::size_t size : {1u, 31u, 32u, 33u, 100u}) {
    std::vector<unsigned char> bytes(size);
    std::set<std::uint64_t> seen = {checksum(bytes.data(), size)};
    for (std::size_t bit = 0; bit < 8 * size; ++bit) {
      bytes[bit / 8] = static_cast<unsigned char>(1U << (bit % 8));
      EXPECT_TRUE(seen.insert(checksum(bytes.data(), size)).second);
      bytes[bit / 8] = 0;
    }
    EXPECT_TRUE(seen.insert(checksum(bytes.data(), size - 1)).second);
    EXPECT_EQ(checksum(bytes.data(), size), checksum(bytes.data(), size));
  }
}

TEST(Checksum, OfATensorIsOfItsElementsShapeAndType) {
  const Tensor x = from_vector<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_EQ(checksum(x), checksum(x.clone()));
  EXPECT_EQ(checksum(x), checksum(x.t().contiguous().t()));
  EXPECT_NE(checksum(x), checksum(x.reshape({3, 2})));
  EXPECT_NE(checksum(x), checksum(x.t()));
  EXPECT_NE(checksum(zeros({2})), checksum(zeros({2}, {.dtype = DType::kI32})));
}

// Also changes of signs, two of which are the same bit of different words.
TEST(Checksum, ChangesDoNotUndoEachOther) {
  std::vector<float> x(64, 1.0f);
  const std::size_t bytes = x.size() * sizeof(float);
  const std::uint64_t before = checksum(x.data(), bytes);
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      x[i] = x[k] = -1.0f;
      EXPECT_NE(checksum(x.data(), bytes), before) << i << " and " << k;
      x[i] = x[k] = 1.0f;
    }
  }
}

TEST(Checksum, DependsOnTheOrder) {
  EXPECT_EQ(checksum("", 0), checksum(nullptr, 0));
  EXPECT_NE(combined(1, 2), combined(2, 1));
}

}  // namespace
}  // namespace hvd::optim
