// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/images/windows.h"

#include <limits>

#include "absl/strings/str_cat.h"
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

Pair count_windows(const Tensor& x, const PoolOptions& o,
                   const char* operation) {
  const Pair stride = o.stride == Pair(0) ? o.kernel : o.stride;
  const Line rows{x.size(2), o.kernel.height, stride.height, o.padding.height,
                  o.dilation.height};
  const Line columns{x.size(3), o.kernel.width, stride.width, o.padding.width,
                     o.dilation.width};
  if (!is_sound_line(rows) || !is_sound_line(columns)) {
    throw InvalidArgument(absl::StrCat(
        operation,
        ": kernel, stride and dilation must be positive and less than 2^31, "
        "and padding between 0 and half of the kernel"));
  }
  const Pair windows(count(rows, o.ceil_mode), count(columns, o.ceil_mode));
  if (windows.height == 0 || windows.width == 0) {
    throw InvalidArgument(absl::StrCat(
        operation, ": the kernel [", o.kernel.height, ",", o.kernel.width,
        "] is larger than the padded images ", x.shape().to_string()));
  }
  return windows;
}

Tensor as_images(const Tensor& x, const char* operation) {
  check_defined(x, operation);
  if (!is_floating_point(x.dtype())) {
    throw_bad_dtype(x.dtype(), operation, "floating point");
  }
  const Tensor images = x.dim() == 3 ? unsqueeze(x, 0) : x;
  if (images.dim() != 4 ||
      images.size(1) * images.size(2) * images.size(3) == 0) {
    throw InvalidArgument(absl::StrCat(
        operation, ": ", x.describe(),
        " is not [n, channels, height, width], not empty but for n"));
  }
  return images;
}

}  // namespace hvd::autograd
