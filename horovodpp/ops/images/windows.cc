// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/images/windows.h"

#include <array>
#include <cstddef>
#include <limits>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/record/autocast.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/walk.h"

namespace hvd::autograd {
namespace {

struct Line {
  std::int64_t size;
  std::int64_t kernel;
  std::int64_t stride;
  std::int64_t padding;
  std::int64_t dilation;
};

std::int64_t count(const Line& line, bool ceil_mode) {
  const std::int64_t room = line.size + 2 * line.padding -
                            line.dilation * (line.kernel - 1) - 1 +
                            (ceil_mode ? line.stride - 1 : 0);
  if (room < 0) return 0;
  std::int64_t windows = room / line.stride + 1;
  // The last window must begin in the image or the padding before it.
  if (ceil_mode && (windows - 1) * line.stride >= line.size + line.padding) {
    --windows;
  }
  return windows;
}

bool is_sound_line(const Line& line) {
  return autograd::is_sound(line.kernel, 1) &&
         autograd::is_sound(line.stride, 1) &&
         autograd::is_sound(line.dilation, 1) && line.padding >= 0 &&
         2 * line.padding <= line.kernel;
}

}  // namespace

bool is_sound(std::int64_t number, std::int64_t least) {
  return number >= least && number <= std::numeric_limits<std::int32_t>::max();
}

Triple sizes_behind_two(const Dims& shape) {
  if (shape.size() == 4) return {1, shape[2], shape[3]};
  return {shape[2], shape[3], shape[4]};
}

Dims shape_of(std::int64_t first, std::int64_t second, const Triple& sizes,
              int dims) {
  if (dims == 2) return {first, second, sizes.height, sizes.width};
  return {first, second, sizes.depth, sizes.height, sizes.width};
}

Triple count_windows(const Triple& image, const PoolOptions& o,
                     const char* operation) {
  bool sound = true;
  const Triple windows = for_each_side([&](std::int64_t Triple::*side) {
    const Line line{image.*side, o.kernel.*side, o.stride.*side,
                    o.padding.*side, o.dilation.*side};
    const bool is_sound = is_sound_line(line);
    sound = sound && is_sound;
    return is_sound ? count(line, o.ceil_mode) : 0;
  });
  if (!sound) {
    throw InvalidArgument(absl::StrCat(
        operation,
        ": kernel, stride and dilation must be positive and less than 2^31, "
        "and padding between 0 and half of the kernel"));
  }
  if (windows.depth == 0 || windows.height == 0 || windows.width == 0) {
    const bool deep = o.kernel.depth != 1 || image.depth != 1;
    throw InvalidArgument(absl::StrCat(
        operation, ": the kernel [",
        deep ? absl::StrCat(o.kernel.depth, ",") : "", o.kernel.height, ",",
        o.kernel.width, "] is larger than the padded images [",
        deep ? absl::StrCat(image.depth, ",") : "", image.height, ",",
        image.width, "]"));
  }
  return windows;
}

Triple checked_size(const Triple& size, const char* operation) {
  if (!is_sound(size, 1)) {
    const bool deep = size.depth != 1;
    throw InvalidArgument(absl::StrCat(
        operation, ": size [", deep ? absl::StrCat(size.depth, ",") : "",
        size.height, ",", size.width,
        "] is not positive, or not less than "
        "2^31"));
  }
  if (static_cast<double>(size.depth) * static_cast<double>(size.height) *
          static_cast<double>(size.width) >
      kMostElements) {
    throw InvalidArgument(absl::StrCat(
        operation, ": the result would have more than 2^45 elements"));
  }
  return size;
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

Images::Images(const Tensor& given, int dims, const char* operation) {
  check_defined(given, operation);
  // PyTorch's autocast computes pools of 3 dimensions in float32.
  const Tensor x = dims == 3 ? autocast_wider(given) : given;
  if (!is_floating_point(x.dtype())) {
    throw_bad_dtype(x.dtype(), operation, "floating point");
  }
  is_one_ = x.dim() == dims + 1;
  is_row_ = dims == 1;
  tensor_ = is_one_ ? unsqueeze(x, 0) : x;
  bool fits = tensor_.dim() == dims + 2;
  for (std::int64_t d = 1; fits && d < tensor_.dim(); ++d) {
    fits = tensor_.size(d) > 0;
  }
  if (!fits) {
    constexpr std::array kSizes = {"width", "height, width",
                                   "depth, height, width"};
    throw InvalidArgument(absl::StrCat(
        operation, ": ", x.describe(), " is not [n, channels, ",
        kSizes[static_cast<std::size_t>(dims - 1)], "], not empty but for n"));
  }
  if (is_row_) tensor_ = unsqueeze(tensor_, 2);
}

Tensor Images::restored(const Tensor& result) const {
  const Tensor flat = is_row_ ? without(result, 2) : result;
  return is_one_ ? without(flat, 0) : flat;
}

}  // namespace hvd::autograd
