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
  const Tensor x = grid.row_major ? wide.contiguous() : channels_last(wide);
  const Triple sizes = averages ? grid.windows() : grid.image;
  const Dims shape =
      shape_of(x.size(0), x.size(1), sizes, static_cast<int>(x.dim()) - 2);
  const Tensor out = grid.row_major ? empty(shape, {.dtype = x.dtype()})
                                    : empty_channels_last(shape, x.dtype());
  const std::int64_t images = grid.row_major ? shape[0] * shape[1] : shape[0];
  const std::int64_t depth = grid.row_major ? 1 : shape[1];
  const std::int64_t from_size =
      depth * (averages ? grid.image : grid.windows()).product();
  const std::int64_t to_size = depth * sizes.product();
  visit_floating(x.dtype(), "avg_pool", [&]<typename T>(TypeTag<T>) {
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

OperationName name_of_average(const Tensor& x) {
  return x.dim() == 4 ? OperationName("avg_pool2d")
                      : OperationName("avg_pool3d");
}

Tensor averaged(const Tensor& x, const Grid& grid) {
  Tensor out =
      result_of(name_of_average(x), [&] { return computed(x, grid, true); });
  if (needs_grad(x)) {
    record(out, "AvgPoolBackward", x,
           [grid](Tensor& dy) { return spread(dy, grid); });
  }
  return out;
}

Tensor spread(const Tensor& x, const Grid& grid) {
  Tensor out =
      result_of(name_of_average(x), [&] { return computed(x, grid, false); });
  if (needs_grad(x)) {
    record(out, "AvgPoolBackwardBackward", x,
           [grid](Tensor& dy) { return averaged(dy, grid); });
  }
  return out;
}

// The windows of one side; the divisor counts padding or not.
Windows windows_of(const PoolOptions& o, const Triple& image,
                   std::int64_t Triple::*side, std::int64_t count,
                   bool count_padding) {
  const std::int64_t size = image.*side;
  Windows windows;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t begin = i * (o.stride.*side) - o.padding.*side;
    const std::int64_t end =
        std::min(begin + o.kernel.*side, size + o.padding.*side);
    Window window{std::max<std::int64_t>(begin, 0), std::min(end, size),
                  end - begin};
    window.end = std::max(window.begin, window.end);
    if (!count_padding) window.count = window.end - window.begin;
    windows.push_back(window);
  }
  return windows;
}

// Makes all windows of the grid count `divisor` elements.
void override_divisor(Grid& grid, std::int64_t divisor) {
  for (Window& window : grid.planes) window.count = divisor;
  for (Window& window : grid.rows) window.count = 1;
  for (Window& window : grid.columns) window.count = 1;
}

// Whether x is row-major and a conversion would move its elements.
bool in_planes(const Tensor& x) {
  return x.is_contiguous() && !is_channels_last(x);
}

template <typename Size>
Tensor average_pool(const char* operation, const Tensor& x,
                    const AvgPoolOptions<Size>& options) {
  const Images images(x, kDims<Size>, operation);
  const Triple image = images.sizes();
  const PoolOptions o = pool_options(options);
  const Triple count = count_windows(image, o, operation);
  const auto along = [&](std::int64_t Triple::*side) {
    return windows_of(o, image, side, count.*side, options.count_include_pad);
  };
  Grid grid{along(&Triple::depth), along(&Triple::height),
            along(&Triple::width), image, in_planes(images.tensor())};
  if (options.divisor_override != 0) {
    override_divisor(grid, options.divisor_override);
  }
  return images.restored(averaged(images.tensor(), grid));
}

template <typename Size>
Tensor adaptive_average_pool(const char* operation, const Tensor& x,
                             const Size& size) {
  const Images images(x, kDims<Size>, operation);
  const Triple image = images.sizes();
  const Triple count = checked_size(in_3d(size, 1), operation);
  return images.restored(
      averaged(images.tensor(), {covering_windows(image.depth, count.depth),
                                 covering_windows(image.height, count.height),
                                 covering_windows(image.width, count.width),
                                 image, in_planes(images.tensor())}));
}

}  // namespace
}  // namespace autograd

Tensor avg_pool1d(const Tensor& x, const AvgPool1dOptions& options) {
  return autograd::average_pool("avg_pool1d", x, options);
}
Tensor avg_pool2d(const Tensor& x, const AvgPool2dOptions& options) {
  return autograd::average_pool("avg_pool2d", x, options);
}
Tensor avg_pool3d(const Tensor& x, const AvgPool3dOptions& options) {
  return autograd::average_pool("avg_pool3d", x, options);
}

Tensor adaptive_avg_pool1d(const Tensor& x, std::int64_t size) {
  return autograd::adaptive_average_pool("adaptive_avg_pool1d", x, size);
}
Tensor adaptive_avg_pool2d(const Tensor& x, Pair size) {
  return autograd::adaptive_average_pool("adaptive_avg_pool2d", x, size);
}
Tensor adaptive_avg_pool3d(const Tensor& x, Triple size) {
  return autograd::adaptive_average_pool("adaptive_avg_pool3d", x, size);
}

}  // namespace hvd
