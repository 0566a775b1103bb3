// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/images/images.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/parallel.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/ops/images/average_loops.h"
#include "horovodpp/ops/images/windows.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace autograd {
namespace {

// averaged(): the means of windows. spread(): each element of x distributed
// over its window. Both are linear, and derivatives of each other.
Tensor averaged(const Tensor& x, const Grid& grid);
Tensor spread(const Tensor& x, const Grid& grid);

// Computes either direction for x [n, c, ...]. 16-bit types use float32 sums.
Tensor computed(const Tensor& input, const Grid& grid, bool averages) {
  NoGrad no_grad;
  const Tensor wide = widened(input);
  const Tensor x = grid.planes ? wide.contiguous() : channels_last(wide);
  Dims shape = x.shape();
  shape[2] = averages ? static_cast<std::int64_t>(grid.rows.size())
                      : grid.image.height;
  shape[3] = averages ? static_cast<std::int64_t>(grid.columns.size())
                      : grid.image.width;
  const Tensor out = grid.planes ? empty(shape, {.dtype = x.dtype()})
                                 : empty_channels_last(shape, x.dtype());
  const std::int64_t images = grid.planes ? shape[0] * shape[1] : shape[0];
  const std::int64_t depth = grid.planes ? 1 : shape[1];
  const std::int64_t from_size =
      depth * (averages ? grid.pixels() : grid.windows());
  const std::int64_t to_size =
      depth * (averages ? grid.windows() : grid.pixels());
  visit_floating(x.dtype(), "avg_pool2d", [&]<typename T>(TypeTag<T>) {
    const T* from = x.data<T>();
    T* to = out.data<T>();
    parallel_for({.count = images, .cost = std::max(from_size, to_size)},
                 [&](std::int64_t begin, std::int64_t end) {
                   const auto image =
                       averages ? average_image<T> : spread_image<T>;
                   for (std::int64_t i = begin; i < end; ++i) {
                     image(grid, depth, from + i * from_size, to + i * to_size);
                   }
                 });
  });
  return to(out, input.dtype());
}

Tensor averaged(const Tensor& x, const Grid& grid) {
  Tensor out = result_of("avg_pool2d", [&] { return computed(x, grid, true); });
  if (needs_grad(x)) {
    record(out, "AvgPool2dBackward", x,
           [grid](Tensor& dy) { return spread(dy, grid); });
  }
  return out;
}

Tensor spread(const Tensor& x, const Grid& grid) {
  Tensor out =
      result_of("avg_pool2d", [&] { return computed(x, grid, false); });
  if (needs_grad(x)) {
    record(out, "AvgPool2dBackwardBackward", x,
           [grid](Tensor& dy) { return averaged(dy, grid); });
  }
  return out;
}

struct AveragedLine {
  std::int64_t size;
  std::int64_t kernel;
  std::int64_t stride;
  std::int64_t padding;
};

Windows windows_of(const AveragedLine& line, std::int64_t count,
                   bool count_padding) {
  Windows windows;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t begin = i * line.stride - line.padding;
    const std::int64_t end =
        std::min(begin + line.kernel, line.size + line.padding);
    Window window{std::max<std::int64_t>(begin, 0), std::min(end, line.size),
                  end - begin};
    window.end = std::max(window.begin, window.end);
    if (!count_padding) window.count = window.end - window.begin;
    windows.push_back(window);
  }
  return windows;
}

// Whether x is row-major and a conversion would move its elements.
bool in_planes(const Tensor& x) {
  return x.is_contiguous() && !is_channels_last(x);
}

Windows covering_windows(std::int64_t size, std::int64_t count) {
  Windows windows;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t begin = i * size / count;
    const std::int64_t end = ((i + 1) * size + count - 1) / count;
    windows.push_back({begin, end, end - begin});
  }
  return windows;
}

}  // namespace
}  // namespace autograd

Tensor avg_pool2d(const Tensor& x, const AvgPool2dOptions& o) {
  const Tensor images = autograd::as_images(x, "avg_pool2d");
  const Pair count = autograd::count_windows(
      images, {o.kernel, o.stride, o.padding, 1, o.ceil_mode}, "avg_pool2d");
  const Pair stride = o.stride == Pair(0) ? o.kernel : o.stride;
  const Pair image(images.size(2), images.size(3));
  const autograd::Grid grid{
      autograd::windows_of(
          {image.height, o.kernel.height, stride.height, o.padding.height},
          count.height, o.count_include_pad),
      autograd::windows_of(
          {image.width, o.kernel.width, stride.width, o.padding.width},
          count.width, o.count_include_pad),
      image, autograd::in_planes(images)};
  const Tensor y = autograd::averaged(images, grid);
  return x.dim() == 3 ? autograd::without(y, 0) : y;
}

Tensor adaptive_avg_pool2d(const Tensor& x, Pair size) {
  const Tensor images = autograd::as_images(x, "adaptive_avg_pool2d");
  if (!autograd::is_sound(size, 1)) {
    throw InvalidArgument(absl::StrCat("adaptive_avg_pool2d: size [",
                                       size.height, ",", size.width,
                                       "] is not positive, or not less than "
                                       "2^31"));
  }
  const Pair image(images.size(2), images.size(3));
  const autograd::Grid grid{
      autograd::covering_windows(image.height, size.height),
      autograd::covering_windows(image.width, size.width), image,
      autograd::in_planes(images)};
  const Tensor y = autograd::averaged(images, grid);
  return x.dim() == 3 ? autograd::without(y, 0) : y;
}

}  // namespace hvd
