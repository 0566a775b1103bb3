// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/decoder/key_value_cache.h"

#include <gtest/gtest.h>

#include "horovodpp/autograd.h"
#include "horovodpp/core/error.h"
#include "test/support/expect_error.h"

namespace hvd::nn {
namespace {

TEST(KeyValueCache, HoldsAllRowsSoFar) {
  KeyValueCache cache({.batch = 2, .heads = 3, .width = 4, .limit = 5});
  const Tensor keys = randn({2, 3, 5, 4});
  const Tensor values = randn({2, 3, 5, 4});
  // Rows of any strides.
  cache.append(keys.narrow(2, 0, 2), values.narrow(2, 0, 2));
  EXPECT_EQ(cache.length(), 2);
  cache.append(keys.narrow(2, 2, 0), values.narrow(2, 2, 0));
  const auto all = cache.append(keys.narrow(2, 2, 3), values.narrow(2, 2, 3));
  EXPECT_EQ(cache.length(), 5);
  EXPECT_EQ(all.keys.to_vector<float>(), keys.to_vector<float>());
  EXPECT_EQ(all.values.to_vector<float>(), values.to_vector<float>());
  cache.truncate(1);
  const auto again = cache.append(keys.narrow(2, 3, 1), values.narrow(2, 3, 1));
  EXPECT_EQ(again.keys.narrow(2, 1, 1).contiguous().to_vector<float>(),
            keys.narrow(2, 3, 1).contiguous().to_vector<float>());
}

TEST(KeyValueCache, RefusesWhatItCannotHold) {
  KeyValueCache cache({.heads = 1, .width = 2, .limit = 3});
  const Tensor rows = ones({1, 1, 2, 2});
  cache.append(rows, rows);
  EXPECT_ERROR(InvalidArgument, "2 tokens and 2 more exceed the limit of 3",
               cache.append(rows, rows));
  EXPECT_EQ(cache.length(), 2);
  EXPECT_ERROR(InvalidArgument, "do not fit",
               cache.append(ones({1, 2, 1, 2}), ones({1, 2, 1, 2})));
  EXPECT_ERROR(InvalidArgument, "do not fit",
               cache.append(ones({1, 1, 1, 2}, {.dtype = DType::kF64}), rows));
  EXPECT_ERROR(InvalidArgument, "do not fit", cache.append(Tensor(), rows));
  EXPECT_ERROR(InvalidArgument, "1 rows of keys and 2",
               cache.append(ones({1, 1, 1, 2}), rows));
  EXPECT_ERROR(InvalidArgument, "generate under hvd::NoGrad",
               cache.append(ones({1, 1, 1, 2}, {.requires_grad = true}),
                            ones({1, 1, 1, 2})));
  EXPECT_ERROR(InvalidArgument, "cannot keep 4 of 2", cache.truncate(4));
  EXPECT_ERROR(InvalidArgument, "sizes are positive",
               KeyValueCache({.heads = 1, .width = 2, .limit = 0}));
}

}  // namespace
}  // namespace hvd::nn
