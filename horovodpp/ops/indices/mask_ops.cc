// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/indices/mask_ops.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/indices/index_ops.h"
#include "horovodpp/ops/indices/picks.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {

using autograd::Dims;
using autograd::Place;

namespace {

void check_mask(const Tensor& x, const Tensor& mask, const char* operation) {
  autograd::check_defined(x, operation);
  autograd::check_defined(mask, operation);
  if (mask.dtype() == DType::kBool) return;
  autograd::throw_bad_dtype(
      mask.dtype(), absl::StrCat(operation, ": its mask").c_str(), "bool");
}

// int64 [n]: the places where `mask`, expanded to `shape`, is true.
Tensor true_places(const Tensor& mask, const Dims& shape) {
  autograd::report_reads(mask);
  const NoGrad no_grad;
  const Tensor flags = expand(mask.detach(), shape).contiguous();
  const bool* flag = flags.data<bool>();
  const std::int64_t size = flags.num_elements();
  const Tensor places =
      empty({std::count(flag, flag + size, true)}, {.dtype = DType::kI64});
  auto* to = places.data<std::int64_t>();
  for (std::int64_t i = 0; i < size; ++i) {
    if (flag[i]) *to++ = i;
  }
  return places;
}

Tensor scattered_by_mask(const Tensor& x, const Tensor& mask,
                         const Tensor& source, Place place) {
  autograd::check_same_dtype(x, source, "masked_scatter");
  const Tensor places = true_places(mask, x.shape());
  const std::int64_t count = places.num_elements();
  if (source.num_elements() < count) {
    throw InvalidArgument(
        absl::StrCat("masked_scatter: a source of ", source.num_elements(),
                     " elements for a mask that is true at ", count));
  }
  const Tensor flat = reshape(source, {source.num_elements()});
  return autograd::put_flat(
      x, places, narrow(flat, 0, 0, count),
      {place == Place::kCopy ? "masked_scatter" : "masked_scatter_", place});
}

}  // namespace

Tensor masked_select(const Tensor& x, const Tensor& mask) {
  check_mask(x, mask, "masked_select");
  const Dims shape =
      autograd::broadcast(x.shape(), mask.shape(), "masked_select");
  const Tensor flat = reshape(expand(x, shape), {shape.product()});
  return index_select(flat, 0, true_places(mask, shape));
}

Tensor masked_fill(const Tensor& x, const Tensor& mask, const Tensor& value) {
  check_mask(x, mask, "masked_fill");
  autograd::check_same_dtype(x, value, "masked_fill");
  if (value.dim() != 0) {
    throw InvalidArgument(absl::StrCat("masked_fill: a value ",
                                       value.describe(), " is no scalar"));
  }
  return where(mask, value, x);
}

const Tensor& masked_fill_(const Tensor& x, const Tensor& mask, double value) {
  check_mask(x, mask, "masked_fill_");
  return x.copy_(masked_fill(x, mask, value));
}

const Tensor& masked_fill_(const Tensor& x, const Tensor& mask,
                           const Tensor& value) {
  check_mask(x, mask, "masked_fill_");
  return x.copy_(masked_fill(x, mask, value));
}

Tensor masked_scatter(const Tensor& x, const Tensor& mask,
                      const Tensor& source) {
  check_mask(x, mask, "masked_scatter");
  const Dims shape =
      autograd::broadcast(x.shape(), mask.shape(), "masked_scatter");
  return scattered_by_mask(expand(x, shape), mask, source, Place::kCopy);
}

const Tensor& masked_scatter_(const Tensor& x, const Tensor& mask,
                              const Tensor& source) {
  check_mask(x, mask, "masked_scatter_");
  scattered_by_mask(x, mask, source, Place::kInPlace);
  return x;
}

}  // namespace hvd
