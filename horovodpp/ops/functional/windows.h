// SPDX-License-Identifier: Apache-2.0
// The windows of a pooling operation along one dimension, and the checks that
// poolings, and convolutions, have in common.
#pragma once

#include <cstdint>
#include <vector>

#include "horovodpp/kernel/conv_options.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

// Whether a kernel, stride, dilation, padding or size is `least` or more, and less
// than 2^31: sizes that are computed from such numbers do not overflow.
bool is_sound(std::int64_t number, std::int64_t least);
inline bool is_sound(const Pair& pair, std::int64_t least) {
  return is_sound(pair.height, least) && is_sound(pair.width, least);
}

// The elements [begin, end) of a dimension, and for how many the window counts:
// padding may be among them.
struct Window {
  std::int64_t begin;
  std::int64_t end;
  std::int64_t count;
};
using Windows = std::vector<Window>;

struct PoolOptions {
  Pair kernel;
  Pair stride;  // 0: that of the kernel.
  Pair padding;
  Pair dilation;
  bool ceil_mode;
};

// How many windows there are, in each dimension, on images of this size.
//   InvalidArgument  the options are invalid, or no window fits; names
//                    `operation`
Pair count_windows(const Tensor& x, const PoolOptions& options,
                   const char* operation);

// The images [n, c, h, w] or the one image [c, h, w] in 4 dimensions.
//   InvalidArgument  x is neither, or empty but for n, or of no floating dtype
Tensor as_images(const Tensor& x, const char* operation);

}  // namespace hvd::autograd
