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
Tensor put_back(const Tensor& y, const MaxPlaces& places, const Pair& image);

// Records `out` as taken from x.
void record_taken(const Tensor& out, const Tensor& x, const MaxPlaces& places,
                  const Pair& image) {
  if (!needs_grad(x)) return;
  record_saving(out, "MaxPool2dBackward", x, places,
                [image](Tensor& dy, const Tensor& at) {
                  return put_back(dy, at, image);
                });
}

// Calls f(output offset, offset of its place) for outputs that have a place,
// with channels last. Images are split among threads.
template <typename F>
void for_each_place(const MaxPlaces& places, const Pair& image, F f) {
  const Dims& shape = places.shape();
  const auto* place = places.data<std::int32_t>();
  const std::int64_t channels = shape[1];
  const std::int64_t windows = shape[2] * shape[3];
  const std::int64_t pixels = image.height * image.width;
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
  const Pair image(x.size(2), x.size(3));
  const Tensor out = empty_channels_last(places.shape(), x.dtype());
  visit_any_floating(x.dtype(), "max_pool2d", [&]<typename T>(TypeTag<T>) {
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
                const Pair& image) {
  Tensor out;
  {
    NoGrad no_grad;
    const Tensor y = channels_last(widened(input));
    Dims shape = y.shape();
    shape[2] = image.height;
    shape[3] = image.width;
    const Tensor sums = empty_channels_last(shape, y.dtype());
    visit_floating(y.dtype(), "max_pool2d", [&]<typename T>(TypeTag<T>) {
      const T* from = y.data<T>();
      T* to = sums.data<T>();
      std::fill_n(to, sums.num_elements(), T(0));
      for_each_place(places, image,
                     [&](auto at, auto place) { to[place] += from[at]; });
    });
    out = to(sums, input.dtype());
  }
  if (needs_grad(input)) {
    record_saving(out, "MaxPool2dBackwardBackward", input, places,
                  [](Tensor& dy, const Tensor& at) { return taken(dy, at); });
  }
  return out;
}

struct Pooling {
  Pair kernel;
  Pair stride;
  Pair padding;
  Pair dilation;
  Pair image;
  Pair windows;
  std::int64_t channels;
};

// The first element inside the image of a dilated window that begins at
// `start`, and the number of the following ones.
struct InsideLine {
  InsideLine(std::int64_t start, std::int64_t kernel, std::int64_t dilation,
             std::int64_t size)
      : first(start < 0 ? (dilation - 1 - start) / dilation : 0),
        begin(start + first * dilation) {
    if (first >= kernel || begin >= size) return;
    count = std::min(kernel - first, (size - 1 - begin) / dilation + 1);
  }
  std::int64_t first;  // Counted in the window,
  std::int64_t begin;  // and in the image.
  std::int64_t count = 0;
};

// As max_of_window() of pool_loops.h, for other types.
template <typename T>
void max_of_any_window(const PoolWindow& window, std::int64_t channels,
                       const T* x, T* y, std::int32_t* places) {
  for (std::int64_t i = 0; i < window.rows; ++i) {
    for (std::int64_t j = 0; j < window.columns; ++j) {
      const std::int64_t at = window.pixel(i, j);
      const auto place = static_cast<std::int32_t>(at);
      const T* pixel = x + at * channels;
      if (i == 0 && j == 0) {
        std::copy_n(pixel, channels, y);
        std::fill_n(places, channels, place);
        continue;
      }
      for (std::int64_t c = 0; c < channels; ++c) {
        const auto value = loaded(pixel[c]);
        const auto found = loaded(y[c]);
        const bool larger = value > found || value != value;
        y[c] = larger ? pixel[c] : y[c];
        places[c] = larger ? place : places[c];
      }
    }
  }
}

// The largest pixels of one window, per channel.
template <typename T>
void pool_window(const T* x, const Pooling& p, const Pair& window, T* y,
                 std::int32_t* places) {
  const InsideLine rows(window.height * p.stride.height - p.padding.height,
                        p.kernel.height, p.dilation.height, p.image.height);
  const InsideLine columns(window.width * p.stride.width - p.padding.width,
                           p.kernel.width, p.dilation.width, p.image.width);
  if (rows.count == 0 || columns.count == 0) {
    // A dilated window may miss the image.
    std::fill_n(y, p.channels, T(-std::numeric_limits<float>::infinity()));
    std::fill_n(places, p.channels, kNowhere);
    return;
  }
  const PoolWindow inside{.top = rows.begin,
                          .left = columns.begin,
                          .rows = rows.count,
                          .columns = columns.count,
                          .row_gap = p.dilation.height,
                          .column_gap = p.dilation.width,
                          .width = p.image.width};
  if constexpr (std::is_same_v<T, float>) {
    max_of_window(inside, p.channels, x, y, places);
  } else {
    max_of_any_window(inside, p.channels, x, y, places);
  }
}

template <typename T>
void pool(const Tensor& x, const Pooling& p, const Tensor& y,
          const MaxPlaces& places) {
  const T* image = x.data<T>();
  T* out = y.data<T>();
  auto* place = places.data<std::int32_t>();
  const std::int64_t image_size = p.image.height * p.image.width * p.channels;
  const std::int64_t line_size = p.windows.width * p.channels;
  const auto pool_line = [&](std::int64_t line) {
    const T* from = image + line / p.windows.height * image_size;
    for (std::int64_t j = 0; j < p.windows.width; ++j) {
      const std::int64_t at = line * line_size + j * p.channels;
      pool_window(from, p, {line % p.windows.height, j}, out + at, place + at);
    }
  };
  parallel_for({.count = x.size(0) * p.windows.height,
                .cost = line_size * p.kernel.height * p.kernel.width},
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) pool_line(i);
               });
}

void check_reached(const Pooling& p, const Tensor& x) {
  if (p.image.height >
      std::numeric_limits<std::int32_t>::max() / p.image.width) {
    throw InvalidArgument(absl::StrCat("max_pool2d: images of ", x.describe(),
                                       " have more than 2^31 pixels"));
  }
}

}  // namespace
}  // namespace autograd

Tensor max_pool2d(const Tensor& input, const MaxPool2dOptions& o) {
  const Tensor x = autograd::as_images(input, "max_pool2d");
  const Pair windows = autograd::count_windows(
      x, {o.kernel, o.stride, o.padding, o.dilation, o.ceil_mode},
      "max_pool2d");
  const autograd::Pooling pooling{
      .kernel = o.kernel,
      .stride = o.stride == Pair(0) ? o.kernel : o.stride,
      .padding = o.padding,
      .dilation = o.dilation,
      .image = {x.size(2), x.size(3)},
      .windows = windows,
      .channels = x.size(1)};
  autograd::check_reached(pooling, x);
  const autograd::Dims shape{x.size(0), x.size(1), windows.height,
                             windows.width};
  auto [y, places] = autograd::result_of("max_pool2d", [&] {
    NoGrad no_grad;
    const std::array made{autograd::empty_channels_last(shape, x.dtype()),
                          autograd::empty_channels_last(shape, DType::kI32)};
    const Tensor images = channels_last(x);
    autograd::visit_any_floating(
        x.dtype(), "max_pool2d", [&]<typename T>(TypeTag<T>) {
          autograd::pool<T>(images, pooling, made[0], made[1]);
        });
    return made;
  });
  autograd::record_taken(y, x, places, pooling.image);
  return input.dim() == 3 ? autograd::without(y, 0) : y;
}

}  // namespace hvd
