// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/decoder/key_value_cache.h"

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/base/thread_state.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::nn {

KeyValueCache::KeyValueCache(const KeyValueCacheOptions& options)
    : options_(options) {
  if (options.batch <= 0 || options.heads <= 0 || options.width <= 0 ||
      options.limit <= 0) {
    throw InvalidArgument(absl::StrCat(
        "KeyValueCache: a batch of ", options.batch, ", ", options.heads,
        " heads of ", options.width, " and a limit of ", options.limit,
        "; sizes are positive"));
  }
  const autograd::Dims shape{options.batch, options.heads, options.limit,
                             options.width};
  keys_ = empty(shape, {.dtype = options.dtype});
  values_ = empty(shape, {.dtype = options.dtype});
}

void KeyValueCache::check(const Tensor& rows, const char* name) const {
  const bool fits =
      rows.defined() && rows.dim() == 4 && rows.size(0) == options_.batch &&
      rows.size(1) == options_.heads && rows.size(3) == options_.width &&
      rows.dtype() == options_.dtype;
  if (!fits) {
    throw InvalidArgument(
        absl::StrCat("KeyValueCache: the ", name, " ",
                     rows.defined() ? rows.describe() : "undefined",
                     " do not fit a cache of ", keys_.describe(),
                     "; wanted is the same, with any number of rows"));
  }
  if (is_grad_enabled() && rows.requires_grad()) {
    throw InvalidArgument(absl::StrCat(
        "KeyValueCache: the ", name,
        " need a gradient, which a cache cannot return; generate under "
        "hvd::NoGrad"));
  }
}

KeyValueCache::Entries KeyValueCache::append(const Tensor& keys,
                                             const Tensor& values) {
  check(keys, "keys");
  check(values, "values");
  const std::int64_t rows = keys.size(2);
  if (values.size(2) != rows) {
    throw InvalidArgument(absl::StrCat("KeyValueCache: ", rows,
                                       " rows of keys and ", values.size(2),
                                       " of values; wanted are as many"));
  }
  if (rows > options_.limit - length_) {
    throw InvalidArgument(absl::StrCat(
        "KeyValueCache: ", length_, " tokens and ", rows,
        " more exceed the limit of ", options_.limit,
        "; make the cache with a larger limit, or generate fewer tokens"));
  }
  const NoGrad no_grad;
  keys_.narrow(2, length_, rows).copy_(keys);
  values_.narrow(2, length_, rows).copy_(values);
  length_ += rows;
  return {keys_.narrow(2, 0, length_), values_.narrow(2, 0, length_)};
}

void KeyValueCache::truncate(std::int64_t length) {
  if (length < 0 || length > length_) {
    throw InvalidArgument(absl::StrCat("KeyValueCache: it cannot keep ", length,
                                       " of ", length_, " tokens"));
  }
  length_ = length;
}

}  // namespace hvd::nn
