// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/sampling/fractional_pools.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/parallel.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/ops/images/windows.h"
#include "horovodpp/ops/indices/index_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/map.h"

namespace hvd {
namespace autograd {
namespace {

// A pool of images [n, c, (depth,) height, width].
struct FractionalPool {
  const char* operation;
  Triple image = 0;
  Triple kernel = 0;
  Triple windows = 0;
  std::int64_t dims = 0;
};

[[noreturn]] void throw_misfit(const FractionalPool& p, const char* wanted) {
  const auto text = [](const Triple& t) {
    return absl::StrCat("[", t.depth, ",", t.height, ",", t.width, "]");
  };
  throw InvalidArgument(absl::StrCat(
      p.operation, ": windows ", text(p.kernel), " with the result's size ",
      text(p.windows), " do not go with images ", text(p.image), "; ", wanted));
}

// Fills in the numbers of windows, and checks all.
void set_windows(FractionalPool& p, const Triple& size,
                 const std::vector<double>& ratio) {
  p.windows = size;
  const bool is_given = size != Triple(0) && size != Triple(1, 0, 0);
  if (is_given != ratio.empty()) {
    throw_misfit(p, "give output_size or output_ratio");
  }
  if (!is_given) {
    if (ratio.size() != static_cast<std::size_t>(p.dims)) {
      throw_misfit(p, "output_ratio has a number for each dimension");
    }
    std::size_t d = 0;
    p.windows = for_each_side([&](std::int64_t Triple::*side) -> std::int64_t {
      if (p.dims == 2 && side == &Triple::depth) return 1;
      const double factor = ratio[d++];
      if (!(factor > 0 && factor < 1)) {
        throw_misfit(p, "the numbers of output_ratio are between 0 and 1");
      }
      return static_cast<std::int64_t>(static_cast<double>(p.image.*side) *
                                       factor);
    });
  }
  const auto fits = [&](std::int64_t Triple::*side) {
    return p.kernel.*side + p.windows.*side - 1 <= p.image.*side;
  };
  if (!is_sound(p.kernel, 1) || !is_sound(p.windows, 1) ||
      !fits(&Triple::depth) || !fits(&Triple::height) ||
      !fits(&Triple::width)) {
    throw_misfit(p,
                 "sizes are positive, and window + result - 1 is at most the "
                 "image");
  }
}

// The first element of each of `count` windows. Every step is rounded to T, as
// in PyTorch.
template <typename T>
void place_windows(T sample, std::int64_t size, std::int64_t kernel,
                   std::int64_t count, std::int64_t* begins) {
  using Wide = decltype(loaded(sample));
  const auto rounded = [](auto value) {
    return loaded(T(static_cast<Wide>(value)));
  };
  const Wide shift = loaded(sample);
  const std::int64_t room = size - kernel;
  if (count > 1) {
    const Wide step = rounded(rounded(room) / rounded(count - 1));
    const auto first = static_cast<std::int64_t>(rounded(shift * step));
    for (std::int64_t i = 0; i + 1 < count; ++i) {
      const Wide place = rounded(rounded(rounded(i) + shift) * step);
      begins[i] = std::clamp<std::int64_t>(
          static_cast<std::int64_t>(place) - first, 0, room);
    }
  }
  begins[count - 1] = room;
}

// The index of the largest element of a window of the image x.
template <typename T>
std::int64_t largest(const FractionalPool& p, const T* x, const Triple& begin) {
  std::int64_t found =
      (begin.depth * p.image.height + begin.height) * p.image.width +
      begin.width;
  auto best = -std::numeric_limits<decltype(loaded(*x))>::infinity();
  for (std::int64_t d = begin.depth; d < begin.depth + p.kernel.depth; ++d) {
    for (std::int64_t h = begin.height; h < begin.height + p.kernel.height;
         ++h) {
      const std::int64_t line = (d * p.image.height + h) * p.image.width;
      for (std::int64_t w = begin.width; w < begin.width + p.kernel.width;
           ++w) {
        const auto value = loaded(x[line + w]);
        if (!(value > best) && !std::isnan(value)) continue;
        best = value;
        found = line + w;
      }
    }
  }
  return found;
}

// The indices of the largest elements of one image. `begins` has room for the
// windows of all sides.
template <typename T>
void find_largest(const FractionalPool& p, const T* x, const T* samples,
                  std::int64_t* begins, std::int64_t* indices) {
  std::int64_t* planes = begins;
  std::int64_t* rows = planes + p.windows.depth;
  std::int64_t* columns = rows + p.windows.height;
  const bool deep = p.dims == 3;
  place_windows(deep ? samples[0] : T(0.0f), p.image.depth, p.kernel.depth,
                p.windows.depth, planes);
  place_windows(samples[1], p.image.height, p.kernel.height, p.windows.height,
                rows);
  place_windows(samples[deep ? 2 : 0], p.image.width, p.kernel.width,
                p.windows.width, columns);
  for (std::int64_t d = 0; d < p.windows.depth; ++d) {
    for (std::int64_t h = 0; h < p.windows.height; ++h) {
      for (std::int64_t w = 0; w < p.windows.width; ++w) {
        *indices++ = largest(p, x, {planes[d], rows[h], columns[w]});
      }
    }
  }
}

// int64 [n, c, windows].
Tensor indices_of(const Tensor& input, const Tensor& samples,
                  const FractionalPool& p) {
  NoGrad no_grad;
  const Tensor x = input.contiguous(), drawn = samples.contiguous();
  const std::int64_t windows = p.windows.product();
  const Tensor indices =
      empty({x.size(0), x.size(1), windows}, {.dtype = DType::kI64});
  const std::int64_t images = x.size(0) * x.size(1);
  const std::int64_t begins =
      p.windows.depth + p.windows.height + p.windows.width;
  const Tensor places = empty({images, begins}, {.dtype = DType::kI64});
  const std::int64_t cost = windows * p.kernel.product();
  visit_any_floating(x.dtype(), p.operation, [&]<typename T>(TypeTag<T>) {
    const T* image = x.data<T>();
    const T* sample = drawn.data<T>();
    auto* place = places.data<std::int64_t>();
    auto* found = indices.data<std::int64_t>();
    parallel_for({.count = images, .cost = cost}, [&](std::int64_t begin,
                                                      std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        find_largest(p, image + i * p.image.product(), sample + i * p.dims,
                     place + i * begins, found + i * windows);
      }
    });
  });
  return indices;
}

Tensor checked_samples(const Tensor& samples, const Tensor& x,
                       const FractionalPool& p) {
  const Dims shape = {x.size(0), x.size(1), p.dims};
  if (!samples.defined()) return rand(shape, {.dtype = x.dtype()});
  if (samples.shape() != shape || samples.dtype() != x.dtype()) {
    throw InvalidArgument(absl::StrCat(
        p.operation, ": samples ", samples.describe(),
        " do not go with images ", x.describe(),
        "; wanted is that dtype, and [n, channels, ", p.dims, "]"));
  }
  return samples.detach();
}

template <typename Size>
MaxResult fractional_pool(const char* operation, const Tensor& input,
                          const FractionalMaxPoolOptions<Size>& options) {
  const Images images(input, kDims<Size>, operation);
  const Tensor& x = images.tensor();
  FractionalPool p{.operation = operation,
                   .image = images.sizes(),
                   .kernel = in_3d(options.kernel, 1),
                   .dims = kDims<Size>};
  set_windows(p, in_3d(options.output_size, 1), options.output_ratio);
  const Tensor samples = checked_samples(options.samples, x, p);
  const Tensor indices = result_of("fractional_max_pool",
                                   [&] { return indices_of(x, samples, p); });
  const Tensor flat = reshape(x, {x.size(0), x.size(1), p.image.product()});
  const auto restored = [&](const Tensor& t) {
    return images.restored(
        reshape(t, shape_of(x.size(0), x.size(1), p.windows, images.dims())));
  };
  return {restored(gather(flat, 2, indices)), restored(indices)};
}

}  // namespace
}  // namespace autograd

Tensor fractional_max_pool2d(const Tensor& x,
                             const FractionalMaxPool2dOptions& options) {
  return fractional_max_pool2d_with_indices(x, options).values;
}
Tensor fractional_max_pool3d(const Tensor& x,
                             const FractionalMaxPool3dOptions& options) {
  return fractional_max_pool3d_with_indices(x, options).values;
}
MaxResult fractional_max_pool2d_with_indices(
    const Tensor& x, const FractionalMaxPool2dOptions& options) {
  return autograd::fractional_pool("fractional_max_pool2d", x, options);
}
MaxResult fractional_max_pool3d_with_indices(
    const Tensor& x, const FractionalMaxPool3dOptions& options) {
  return autograd::fractional_pool("fractional_max_pool3d", x, options);
}

}  // namespace hvd
