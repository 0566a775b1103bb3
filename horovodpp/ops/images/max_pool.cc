// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/images/images.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/loops/pool_loops.h"
#include "horovodpp/kernel/parallel.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/ops/images/windows.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/map.h"

namespace hvd {
namespace autograd {
namespace {

// The places of the largest elements: for each output the pixel of its channel,
// or kNowhere; int32, channels-last.
using MaxPlaces = Tensor;

// The place for a window that misses the image.
constexpr std::int32_t kNowhere = -1;

// taken(): the elements of x at `places`, 0 for kNowhere. put_back(): the
// elements of y added at `places`, in images of this size. Both are linear, and
// derivatives of each other.
Tensor taken(const Tensor& x, const MaxPlaces& places);
Tensor put_back(const Tensor& y, const MaxPlaces& places, const Triple& image);

// Records `out` as taken from x.
void record_taken(const Tensor& out, const Tensor& x, const MaxPlaces& places,
                  const Triple& image) {
  if (!needs_grad(x)) return;
  record_saving(out, "MaxPoolBackward", x, places,
                [image](Tensor& dy, const Tensor& at) {
                  return put_back(dy, at, image);
                });
}

// Calls f(output offset, offset of its place) for outputs that have a place,
// with channels last. Images are split among threads.
template <typename F>
void for_each_place(const MaxPlaces& saved, const Triple& image, F f) {
  // Hooks on saved tensors may have changed the layout.
  const MaxPlaces places = channels_last(saved);
  const Dims& shape = places.shape();
  const auto* place = places.data<std::int32_t>();
  const std::int64_t channels = shape[1];
  const std::int64_t windows = sizes_behind_two(shape).product();
  const std::int64_t pixels = image.product();
  const auto for_image = [&](std::int64_t n) {
    const std::int64_t first = n * pixels * channels;
    std::int64_t at = n * windows * channels;
    for (std::int64_t i = 0; i < windows; ++i) {
      for (std::int64_t c = 0; c < channels; ++c, ++at) {
        if (place[at] != kNowhere) f(at, first + place[at] * channels + c);
      }
    }
  };
  parallel_for({.count = shape[0], .cost = windows * channels},
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t n = begin; n < end; ++n) for_image(n);
               });
}

Tensor taken(const Tensor& input, const MaxPlaces& places) {
  const Tensor x = channels_last(input.detach());
  const Triple image = sizes_behind_two(x.shape());
  const Tensor out = empty_channels_last(places.shape(), x.dtype());
  visit_any_floating(x.dtype(), "max_pool", [&]<typename T>(TypeTag<T>) {
    const T* from = x.data<T>();
    T* to = out.data<T>();
    std::fill_n(to, out.num_elements(), T(0));
    for_each_place(places, image,
                   [&](auto at, auto place) { to[at] = from[place]; });
  });
  record_taken(out, input, places, image);
  return out;
}

Tensor put_back(const Tensor& input, const MaxPlaces& places,
                const Triple& image) {
  Tensor out;
  {
    NoGrad no_grad;
    const Tensor y = channels_last(widened(input));
    const Tensor sums = empty_channels_last(
        shape_of(y.size(0), y.size(1), image, static_cast<int>(y.dim()) - 2),
        y.dtype());
    visit_floating(y.dtype(), "max_pool", [&]<typename T>(TypeTag<T>) {
      const T* from = y.data<T>();
      T* to = sums.data<T>();
      std::fill_n(to, sums.num_elements(), T(0));
      for_each_place(places, image,
                     [&](auto at, auto place) { to[place] += from[at]; });
    });
    out = to(sums, input.dtype());
  }
  if (needs_grad(input)) {
    record_saving(out, "MaxPoolBackwardBackward", input, places,
                  [](Tensor& dy, const Tensor& at) { return taken(dy, at); });
  }
  return out;
}

using Spans = std::vector<PoolSpan>;

// The windows of all dimensions: window (d, h, w) is planes[d] times rows[h]
// times columns[w].
struct MaxGrid {
  Spans planes;
  Spans rows;
  Spans columns;
  Triple image;

  Triple windows() const {
    return {static_cast<std::int64_t>(planes.size()),
            static_cast<std::int64_t>(rows.size()),
            static_cast<std::int64_t>(columns.size())};
  }
  PoolWindow at(const Triple& window) const {
    return {.planes = planes[static_cast<std::size_t>(window.depth)],
            .rows = rows[static_cast<std::size_t>(window.height)],
            .columns = columns[static_cast<std::size_t>(window.width)],
            .height = image.height,
            .width = image.width};
  }
};

// The elements inside the image of a dilated window that begins at `start`.
PoolSpan span_inside(std::int64_t start, std::int64_t kernel,
                     std::int64_t dilation, std::int64_t size) {
  const std::int64_t first = start < 0 ? (dilation - 1 - start) / dilation : 0;
  const std::int64_t begin = start + first * dilation;
  if (first >= kernel || begin >= size) return {.gap = dilation};
  return {.begin = begin,
          .count = std::min(kernel - first, (size - 1 - begin) / dilation + 1),
          .gap = dilation};
}

Spans dilated_spans(const PoolOptions& o, const Triple& image,
                    const Triple& windows, std::int64_t Triple::*side) {
  Spans spans;
  for (std::int64_t i = 0; i < windows.*side; ++i) {
    spans.push_back(span_inside(i * (o.stride.*side) - o.padding.*side,
                                o.kernel.*side, o.dilation.*side, image.*side));
  }
  return spans;
}

Spans covering_spans(std::int64_t size, std::int64_t count) {
  Spans spans;
  for (const Window& window : covering_windows(size, count)) {
    spans.push_back(
        {.begin = window.begin, .count = window.end - window.begin});
  }
  return spans;
}

// As max_of_window() of pool_loops.h, for other types.
template <typename T>
void max_of_any_window(const PoolWindow& window, std::int64_t channels,
                       const T* x, T* y, std::int32_t* places) {
  const std::int64_t first = window.first_pixel(0, 0);
  std::copy_n(x + first * channels, channels, y);
  std::fill_n(places, channels, static_cast<std::int32_t>(first));
  const auto take_larger = [&](std::int64_t at) {
    const T* pixel = x + at * channels;
    const auto place = static_cast<std::int32_t>(at);
    for (std::int64_t c = 0; c < channels; ++c) {
      const auto value = loaded(pixel[c]);
      const auto found = loaded(y[c]);
      const bool larger = value > found || value != value;
      y[c] = larger ? pixel[c] : y[c];
      places[c] = larger ? place : places[c];
    }
  };
  std::int64_t begin = 1;  // The first pixel is the best so far.
  for (std::int64_t k = 0; k < window.planes.count; ++k) {
    for (std::int64_t i = 0; i < window.rows.count; ++i) {
      const std::int64_t line = window.first_pixel(k, i);
      for (std::int64_t j = begin; j < window.columns.count; ++j) {
        take_larger(line + j * window.columns.gap);
      }
      begin = 0;
    }
  }
}

// The largest pixels of one window, per channel.
template <typename T>
void pool_window(const PoolWindow& window, std::int64_t channels, const T* x,
                 T* y, std::int32_t* places) {
  if (window.planes.count == 0 || window.rows.count == 0 ||
      window.columns.count == 0) {
    // A dilated window may miss the image.
    std::fill_n(y, channels, T(-std::numeric_limits<float>::infinity()));
    std::fill_n(places, channels, kNowhere);
    return;
  }
  if constexpr (std::is_same_v<T, float>) {
    max_of_window(window, channels, x, y, places);
  } else {
    max_of_any_window(window, channels, x, y, places);
  }
}

template <typename T>
void pool(const Tensor& x, const MaxGrid& grid, const Tensor& y,
          const MaxPlaces& places) {
  const T* image = x.data<T>();
  T* out = y.data<T>();
  auto* place = places.data<std::int32_t>();
  const std::int64_t channels = x.size(1);
  const Triple windows = grid.windows();
  const std::int64_t image_size = grid.image.product() * channels;
  const std::int64_t line_size = windows.width * channels;
  const auto pool_line = [&](std::int64_t line) {
    const std::int64_t plane = line / windows.height;
    const T* from = image + plane / windows.depth * image_size;
    for (std::int64_t j = 0; j < windows.width; ++j) {
      const std::int64_t at = line * line_size + j * channels;
      pool_window(grid.at({plane % windows.depth, line % windows.height, j}),
                  channels, from, out + at, place + at);
    }
  };
  const std::int64_t window_size = grid.planes.front().count *
                                   grid.rows.front().count *
                                   grid.columns.front().count;
  parallel_for({.count = x.size(0) * windows.depth * windows.height,
                .cost = line_size * window_size},
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) pool_line(i);
               });
}

// The largest pixels and their places.
std::array<Tensor, 2> pooled(const Images& images, const MaxGrid& grid,
                             const char* operation) {
  const Tensor& x = images.tensor();
  if (grid.image.product() > std::numeric_limits<std::int32_t>::max()) {
    throw InvalidArgument(absl::StrCat(operation, ": images of ", x.describe(),
                                       " have more than 2^31 pixels"));
  }
  const Dims shape =
      shape_of(x.size(0), x.size(1), grid.windows(), images.dims());
  const OperationName name = images.dims() == 2 ? OperationName("max_pool2d")
                                                : OperationName("max_pool3d");
  const std::array made = result_of(name, [&] {
    NoGrad no_grad;
    const std::array results{empty_channels_last(shape, x.dtype()),
                             empty_channels_last(shape, DType::kI32)};
    const Tensor source = channels_last(x);
    visit_any_floating(x.dtype(), operation, [&]<typename T>(TypeTag<T>) {
      pool<T>(source, grid, results[0], results[1]);
    });
    return results;
  });
  record_taken(made[0], x, made[1], grid.image);
  return made;
}

template <typename Size>
class MaxPool {
 public:
  MaxPool(const char* operation, const Tensor& x,
          const MaxPoolOptions<Size>& options)
      : images_(x, kDims<Size>, operation) {
    const PoolOptions o = pool_options(options);
    const Triple image = images_.sizes();
    const Triple windows = count_windows(image, o, operation);
    made_ = pooled(images_,
                   {dilated_spans(o, image, windows, &Triple::depth),
                    dilated_spans(o, image, windows, &Triple::height),
                    dilated_spans(o, image, windows, &Triple::width), image},
                   operation);
  }
  MaxPool(const char* operation, const Tensor& x, const Size& size)
      : images_(x, kDims<Size>, operation) {
    const Triple image = images_.sizes();
    const Triple windows = checked_size(in_3d(size, 1), operation);
    made_ = pooled(images_,
                   {covering_spans(image.depth, windows.depth),
                    covering_spans(image.height, windows.height),
                    covering_spans(image.width, windows.width), image},
                   operation);
  }

  Tensor values() const { return images_.restored(made_[0]); }
  MaxResult result() const {
    return {values(), images_.restored(to(made_[1], DType::kI64))};
  }

 private:
  Images images_;
  std::array<Tensor, 2> made_;
};

}  // namespace
}  // namespace autograd

Tensor max_pool1d(const Tensor& x, const MaxPool1dOptions& options) {
  return autograd::MaxPool("max_pool1d", x, options).values();
}
Tensor max_pool2d(const Tensor& x, const MaxPool2dOptions& options) {
  return autograd::MaxPool("max_pool2d", x, options).values();
}
Tensor max_pool3d(const Tensor& x, const MaxPool3dOptions& options) {
  return autograd::MaxPool("max_pool3d", x, options).values();
}
MaxResult max_pool1d_with_indices(const Tensor& x,
                                  const MaxPool1dOptions& options) {
  return autograd::MaxPool("max_pool1d", x, options).result();
}
MaxResult max_pool2d_with_indices(const Tensor& x,
                                  const MaxPool2dOptions& options) {
  return autograd::MaxPool("max_pool2d", x, options).result();
}
MaxResult max_pool3d_with_indices(const Tensor& x,
                                  const MaxPool3dOptions& options) {
  return autograd::MaxPool("max_pool3d", x, options).result();
}

Tensor adaptive_max_pool1d(const Tensor& x, std::int64_t size) {
  return autograd::MaxPool("adaptive_max_pool1d", x, size).values();
}
Tensor adaptive_max_pool2d(const Tensor& x, Pair size) {
  return autograd::MaxPool("adaptive_max_pool2d", x, size).values();
}
Tensor adaptive_max_pool3d(const Tensor& x, Triple size) {
  return autograd::MaxPool("adaptive_max_pool3d", x, size).values();
}
MaxResult adaptive_max_pool1d_with_indices(const Tensor& x, std::int64_t size) {
  return autograd::MaxPool("adaptive_max_pool1d", x, size).result();
}
MaxResult adaptive_max_pool2d_with_indices(const Tensor& x, Pair size) {
  return autograd::MaxPool("adaptive_max_pool2d", x, size).result();
}
MaxResult adaptive_max_pool3d_with_indices(const Tensor& x, Triple size) {
  return autograd::MaxPool("adaptive_max_pool3d", x, size).result();
}

}  // namespace hvd
