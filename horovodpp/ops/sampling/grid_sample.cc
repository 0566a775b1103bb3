// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/sampling/grid_sample.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/record/autocast.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/loops/resample_loops.h"
#include "horovodpp/kernel/parallel.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/images/images.h"
#include "horovodpp/ops/images/windows.h"
#include "horovodpp/ops/matmul_ops.h"
#include "horovodpp/ops/reduce_ops.h"
#include "horovodpp/ops/sampling/grid_taps.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace autograd {
namespace {

// A result is a sum of pixels times products of a weight for each dimension. Its
// derivative by a coordinate is the same sum with the derivative of that
// dimension's weight. So two operations suffice for all derivatives: reading with
// derivatives of the weights of any orders, and its transpose, writing.
struct Sampling {
  GridSampleOptions options;
  Triple image = 0;
  Triple places = 0;
  std::array<int, 3> orders = {0, 0, 0};  // By x, y and z.
  int dims = 2;

  GridLine line(int k) const {
    const std::int64_t size = k == 0   ? image.width
                              : k == 1 ? image.height
                                       : image.depth;
    return {size, options.mode, options.padding, options.align_corners};
  }
  // The derivative by coordinate k.
  Sampling by(int k) const {
    Sampling result = *this;
    ++result.orders[static_cast<std::size_t>(k)];
    return result;
  }
};

// The pixels that a place reads, with channels last, and their weights.
template <typename T>
class Reads {
 public:
  Reads(const Sampling& s, const T* place) {
    const auto width = grid_taps(place[0], s.line(0), s.orders[0]);
    const auto height = grid_taps(place[1], s.line(1), s.orders[1]);
    GridTaps<T> depth;
    if (s.dims == 3) {
      depth = grid_taps(place[2], s.line(2), s.orders[2]);
    } else {
      depth.add(0, {.size = 1, .mode = {}, .padding = {}, .align_corners = {}},
                1);
    }
    for (int d = 0; d < depth.count; ++d) {
      for (int h = 0; h < height.count; ++h) {
        for (int w = 0; w < width.count; ++w)
          add(s, depth, d, height, h, width, w);
      }
    }
  }

  PixelTaps<T> taps() const { return {pixel_.data(), weight_.data(), count_}; }

 private:
  void add(const Sampling& s, const GridTaps<T>& depth, int d,
           const GridTaps<T>& height, int h, const GridTaps<T>& width, int w) {
    const auto at_d = static_cast<std::size_t>(d);
    const auto at_h = static_cast<std::size_t>(h);
    const auto at_w = static_cast<std::size_t>(w);
    if (std::min({depth.index[at_d], height.index[at_h], width.index[at_w]}) <
        0) {
      return;
    }
    const auto at = static_cast<std::size_t>(count_++);
    pixel_[at] = (depth.index[at_d] * s.image.height + height.index[at_h]) *
                     s.image.width +
                 width.index[at_w];
    weight_[at] = depth.weight[at_d] * height.weight[at_h] * width.weight[at_w];
  }

  int count_ = 0;
  std::array<std::int64_t, 16> pixel_;
  std::array<T, 16> weight_;
};

// y [n, places, c] from x [n, pixels, c].
template <typename T>
void read_all(const Sampling& s, const Tensor& x, const Tensor& grid,
              const Tensor& y) {
  const std::int64_t channels = x.size(1);
  const std::int64_t count = s.places.product();
  const T* places = grid.data<T>();
  const T* from = x.data<T>();
  T* to = y.data<T>();
  const auto read = [&](std::int64_t i) {
    const Reads<T> reads(s, places + i * s.dims);
    const T* image = from + i / count * s.image.product() * channels;
    blend_pixels(reads.taps(), channels, image, to + i * channels);
  };
  parallel_for({.count = x.size(0) * count, .cost = 4 * channels + 16},
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) read(i);
               });
}

// x [n, pixels, c] from y [n, places, c]. A task is a part of the channels of an
// image.
template <typename T>
void write_all(const Sampling& s, const Tensor& y, const Tensor& grid,
               const Tensor& x) {
  constexpr std::int64_t kPart = 64;
  const std::int64_t channels = y.size(1);
  const std::int64_t count = s.places.product();
  const std::int64_t parts = (channels + kPart - 1) / kPart;
  const T* places = grid.data<T>();
  const T* from = y.data<T>();
  T* to = x.data<T>();
  std::fill_n(to, x.num_elements(), T(0));
  const auto write = [&](std::int64_t n, std::int64_t first) {
    const std::int64_t last = std::min(first + kPart, channels);
    T* image = to + n * s.image.product() * channels + first;
    for (std::int64_t i = n * count; i < (n + 1) * count; ++i) {
      const Reads<T> reads(s, places + i * s.dims);
      add_to_pixels(reads.taps(), channels, last - first,
                    from + i * channels + first, image);
    }
  };
  parallel_for({.count = y.size(0) * parts, .cost = count * (4 * kPart + 16)},
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   write(i / parts, i % parts * kPart);
                 }
               });
}

// Reads x, or writes y.
Tensor computed(const Sampling& s, const Tensor& given, const Tensor& grid,
                bool reads) {
  NoGrad no_grad;
  const Tensor from = channels_last(given.detach());
  const Tensor places = grid.detach().contiguous();
  Tensor filled = empty_channels_last(
      shape_of(from.size(0), from.size(1), reads ? s.places : s.image, s.dims),
      from.dtype());
  visit_floating(from.dtype(), "grid_sample", [&]<typename T>(TypeTag<T>) {
    if (reads) {
      read_all<T>(s, from, places, filled);
    } else {
      write_all<T>(s, from, places, filled);
    }
  });
  return filled;
}

Tensor sampled(const Sampling& s, const Tensor& x, const Tensor& grid);
Tensor written(const Sampling& s, const Tensor& y, const Tensor& grid);

// The gradient of the grid, where `of_places` is what x is read at, or what is
// written to it.
Tensor gradient_of_grid(const Sampling& s, const Tensor& x,
                        const Tensor& of_places, const Tensor& grid) {
  std::vector<Tensor> sides;
  for (int k = 0; k < s.dims; ++k) {
    sides.push_back(sum(of_places * sampled(s.by(k), x, grid), {1}));
  }
  return stack(sides, -1);
}

// Reading and writing are linear in the first operand.
struct GridNode : Node {
  const char* name() const override {
    return reads ? "GridSampleBackward" : "GridSampleBackwardBackward";
  }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    const Tensor places = grid.unpack(*this);
    const Tensor gradient = in_layout(grads[0]);
    if (wants(0)) {
      results[0] = reads ? written(sampling, gradient, places)
                         : sampled(sampling, gradient, places);
    }
    if (!wants(1)) return;
    const Tensor given = in_layout(first.unpack(*this));
    results[1] = reads ? gradient_of_grid(sampling, given, gradient, places)
                       : gradient_of_grid(sampling, gradient, given, places);
  }
  void release_saved() override {
    first.release();
    grid.release();
  }

  // In the layout of the loops, several of which read it.
  static Tensor in_layout(const Tensor& x) {
    return is_grad_enabled() ? x : channels_last(x);
  }

  Sampling sampling;
  bool reads = true;
  SavedTensor first;
  SavedTensor grid;
};

Tensor recorded(const Sampling& s, const Tensor& first, const Tensor& grid,
                bool reads) {
  Ref<GridNode> node;
  if (needs_grad(first, grid)) {
    node = make_node<GridNode>(first, grid);
    node->sampling = s;
    node->reads = reads;
    node->grid.save(grid);
    if (node->wants(1)) node->first.save(first);
  }
  Tensor out =
      result_of("grid_sample", [&] { return computed(s, first, grid, reads); });
  if (node) set_history(out, std::move(node));
  return out;
}

Tensor sampled(const Sampling& s, const Tensor& x, const Tensor& grid) {
  return recorded(s, x, grid, true);
}
Tensor written(const Sampling& s, const Tensor& y, const Tensor& grid) {
  return recorded(s, y, grid, false);
}

Sampling checked_sampling(const Tensor& x, const Tensor& grid,
                          const GridSampleOptions& options) {
  const std::int64_t dims = x.dim() - 2;
  bool fits = (dims == 2 || dims == 3) && grid.dim() == x.dim() &&
              grid.size(0) == x.size(0) && grid.size(-1) == dims;
  for (std::int64_t d = 2; fits && d < x.dim(); ++d) fits = x.size(d) > 0;
  if (!fits) {
    throw InvalidArgument(absl::StrCat(
        "grid_sample: input ", x.describe(), " does not go with grid ",
        grid.describe(),
        "; wanted are [n, c, h, w] and [n, ..., 2], or [n, c, d, h, w] and [n, "
        "..., 3], the images with pixels"));
  }
  const InterpolateMode mode = options.mode;
  if (mode != InterpolateMode::kNearest && mode != InterpolateMode::kLinear &&
      (mode != InterpolateMode::kCubic || dims != 2)) {
    throw InvalidArgument(
        "grid_sample: the mode is kNearest, kLinear or, for images of 2 "
        "dimensions, kCubic");
  }
  Dims places = grid.shape();
  const Triple size = dims == 2 ? Triple(1, places[1], places[2])
                                : Triple(places[1], places[2], places[3]);
  return {.options = options,
          .image = sizes_behind_two(x.shape()),
          .places = size,
          .dims = static_cast<int>(dims)};
}

// The centers of `size` pixels between -1 and 1.
Tensor centers(std::int64_t size, bool align_corners, DType dtype) {
  std::vector<double> at;
  const auto n = static_cast<double>(size);
  for (std::int64_t i = 0; i < size; ++i) {
    const auto k = static_cast<double>(i);
    const double last = align_corners ? n - 1 : n;
    at.push_back(size == 1 ? 0.0
                           : (2 * k + (align_corners ? 0 : 1)) / last - 1);
  }
  return to(from_vector(at, {size}), dtype);
}

}  // namespace
}  // namespace autograd

Tensor grid_sample(const Tensor& input, const Tensor& places,
                   const GridSampleOptions& options) {
  const Tensor x = autograd::autocast_wider(input);
  const Tensor grid = autograd::autocast_wider(places);
  autograd::check_same_dtype(x, grid, "grid_sample");
  if (!is_floating_point(x.dtype())) {
    autograd::throw_bad_dtype(x.dtype(), "grid_sample", "floating point");
  }
  if (size_of(x.dtype()) < size_of(DType::kF32)) {
    return to(grid_sample(to(x, DType::kF32), to(grid, DType::kF32), options),
              x.dtype());
  }
  const auto sampling = autograd::checked_sampling(x, grid, options);
  return autograd::sampled(sampling, x, grid);
}

Tensor affine_grid(const Tensor& theta, const autograd::Dims& size,
                   bool align_corners) {
  autograd::check_defined(theta, "affine_grid");
  const auto rank = static_cast<std::int64_t>(size.size());
  const std::int64_t dims = rank - 2;
  bool fits = (dims == 2 || dims == 3) && theta.dim() == 3 &&
              theta.size(1) == dims && theta.size(2) == dims + 1 &&
              theta.size(0) == size[0] && is_floating_point(theta.dtype());
  for (const std::int64_t n : size) fits = fits && autograd::is_sound(n, 1);
  if (!fits) {
    throw InvalidArgument(absl::StrCat(
        "affine_grid: theta ", theta.describe(), " does not go with the size ",
        size.to_string(),
        "; wanted are floating point [n, 2, 3] and [n, c, h, w], or [n, 3, 4] "
        "and [n, c, d, h, w], all positive"));
  }
  autograd::Dims shape = {size[0]};
  for (std::int64_t d = 2; d < rank; ++d) {
    shape.push_back(size[static_cast<std::size_t>(d)]);
  }
  autograd::Dims image = shape;
  image[0] = 1;
  std::vector<Tensor> base;
  for (std::int64_t k = 0; k < dims; ++k) {  // x is along the last dimension.
    const auto at = static_cast<std::size_t>(dims - k);
    autograd::Dims line = autograd::Dims::filled(image.size(), 1);
    line[at] = image[at];
    base.push_back(expand(
        reshape(autograd::centers(image[at], align_corners, theta.dtype()),
                line),
        image));
  }
  base.push_back(ones(image, {.dtype = theta.dtype()}));
  const Tensor points = reshape(stack(base, -1), {-1, dims + 1});
  shape.push_back(dims);
  return reshape(matmul(points, transpose(theta, 1, 2)), shape);
}

}  // namespace hvd
