// SPDX-License-Identifier: Apache-2.0
// unfold() copies a view in which elements of several patches repeat. fold()
// adds to the elements of such a view.
#include "horovodpp/ops/shapes/patches.h"

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/graph_ops.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {

using autograd::Dims;
using autograd::Geometry;

namespace {

// Below 2^31, so that sizes computed from it cannot overflow.
bool is_in(std::int64_t number, std::int64_t least) {
  return number >= least && number < (std::int64_t{1} << 31);
}

bool is_valid(const PatchOptions& o) {
  return is_in(o.kernel.height, 1) && is_in(o.kernel.width, 1) &&
         is_in(o.dilation.height, 1) && is_in(o.dilation.width, 1) &&
         is_in(o.padding.height, 0) && is_in(o.padding.width, 0) &&
         is_in(o.stride.height, 1) && is_in(o.stride.width, 1);
}

std::int64_t patches_along(std::int64_t size, std::int64_t kernel,
                           std::int64_t dilation, std::int64_t stride) {
  const std::int64_t span = dilation * (kernel - 1) + 1;
  return size < span ? 0 : (size - span) / stride + 1;
}

// [n, c, kh, kw, rows, columns]: the patches in row-major images
// [n, c, padded height, padded width].
Geometry patches_of(std::int64_t n, std::int64_t c, const Pair& padded,
                    const PatchOptions& o) {
  const std::int64_t rows = patches_along(padded.height, o.kernel.height,
                                          o.dilation.height, o.stride.height);
  const std::int64_t columns = patches_along(padded.width, o.kernel.width,
                                             o.dilation.width, o.stride.width);
  const std::int64_t area = padded.height * padded.width;
  return {{n, c, o.kernel.height, o.kernel.width, rows, columns},
          {c * area, area, o.dilation.height * padded.width, o.dilation.width,
           o.stride.height * padded.width, o.stride.width},
          0};
}

Pair padded_size(const Pair& size, const Pair& padding) {
  return {size.height + 2 * padding.height, size.width + 2 * padding.width};
}

[[noreturn]] void refuse(const Tensor& x, const char* operation,
                         const char* wanted) {
  throw InvalidArgument(absl::StrCat(operation, ": ", x.describe(),
                                     " or the options do not fit; wanted are ",
                                     wanted, " and positive sizes"));
}

std::vector<std::int64_t> widths(const Pair& padding, std::int64_t sign) {
  return {sign * padding.width, sign * padding.width, sign * padding.height,
          sign * padding.height};
}

}  // namespace

Tensor unfold(const Tensor& x, const PatchOptions& options) {
  autograd::check_defined(x, "unfold");
  if (x.dim() == 3) {
    return autograd::without(unfold(unsqueeze(x, 0), options), 0);
  }
  const bool sized = x.dim() == 4 && is_valid(options) && is_in(x.size(2), 0) &&
                     is_in(x.size(3), 0);
  if (!sized) refuse(x, "unfold", "[n, c, h, w]");
  const Tensor padded = options.padding == Pair(0)
                            ? x.contiguous()
                            : pad(x, widths(options.padding, 1)).contiguous();
  const Geometry patches = patches_of(
      x.size(0), x.size(1), {padded.size(2), padded.size(3)}, options);
  const std::int64_t count = patches.shape[4] * patches.shape[5];
  if (count == 0) refuse(x, "unfold", "images of at least one patch");
  return autograd::resized(
      clone(autograd::as_strided(padded, patches.shape, patches.strides, 0)),
      {x.size(0), x.size(1) * options.kernel.height * options.kernel.width,
       count});
}

Tensor fold(const Tensor& x, Pair size, const PatchOptions& options) {
  autograd::check_defined(x, "fold");
  if (x.dim() == 2) {
    return autograd::without(fold(unsqueeze(x, 0), size, options), 0);
  }
  const bool sized = x.dim() == 3 && is_valid(options) &&
                     is_in(size.height, 1) && is_in(size.width, 1);
  if (!sized) refuse(x, "fold", "[n, c kh kw, patches]");
  const std::int64_t area = options.kernel.height * options.kernel.width;
  const std::int64_t c = x.size(1) / area;
  const Pair padded = padded_size(size, options.padding);
  const Geometry patches = patches_of(x.size(0), c, padded, options);
  if (x.size(1) % area != 0 ||
      x.size(2) != patches.shape[4] * patches.shape[5]) {
    refuse(x, "fold", "as many patches as the images have");
  }
  const Dims shape = {x.size(0), c, padded.height, padded.width};
  const Geometry images{shape, autograd::contiguous_strides(shape), 0};
  const Tensor sums =
      autograd::moved(reshape(x, patches.shape), patches, images);
  return options.padding == Pair(0) ? sums
                                    : pad(sums, widths(options.padding, -1));
}

}  // namespace hvd
