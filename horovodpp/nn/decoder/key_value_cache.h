// SPDX-License-Identifier: Apache-2.0
// A KeyValueCache holds the keys and values of one attention for all earlier
// tokens, so that a generated token costs one row instead of all.
//
//   hvd::NoGrad no_grad;
//   hvd::nn::KeyValueCache cache({.heads = 2, .width = 32, .limit = 1024});
//   auto [keys, values] = cache.append(k, v);    // [1, 2, length, 32]
//
// The heads are those of keys, fewer than those of queries with groups. One
// thread uses a cache at a time.
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {
namespace nn {

struct KeyValueCacheOptions {
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::int64_t width = 1;  // Of a head.
  std::int64_t limit = 1;  // The most tokens.
  DType dtype = DType::kF32;
};

class KeyValueCache {
 public:
  // Of all tokens so far: views of the cache, [batch, heads, length, width].
  struct Entries {
    Tensor keys;
    Tensor values;
  };

  // Allocates room for the limit.
  //   InvalidArgument  a size is not positive
  explicit KeyValueCache(const KeyValueCacheOptions& options);

  // Copies the next rows, [batch, heads, rows, width], behind the others.
  //   InvalidArgument  shape or dtype differ; more tokens than the limit; or
  //                    the rows need a gradient, which a cache cannot return
  Entries append(const Tensor& keys, const Tensor& values);

  // The number of tokens, which is the position of the next one.
  std::int64_t length() const { return length_; }
  std::int64_t limit() const { return options_.limit; }

  // Forgets all tokens but the first `length`.
  //   InvalidArgument  there are fewer
  void truncate(std::int64_t length);

 private:
  void check(const Tensor& rows, const char* name) const;

  const KeyValueCacheOptions options_;
  Tensor keys_;
  Tensor values_;
  std::int64_t length_ = 0;
};

}  // namespace nn
}  // namespace hvd
