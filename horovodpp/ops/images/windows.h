// SPDX-License-Identifier: Apache-2.0
// The windows of pooling along one dimension, and checks shared by pooling and
// convolution.
#pragma once

#include <cstdint>
#include <vector>

#include "horovodpp/kernel/products/conv_options.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

// Whether a kernel, stride, dilation, padding or size is in [least, 2^31), so
// that sizes computed from it cannot overflow.
bool is_sound(std::int64_t number, std::int64_t least);
inline bool is_sound(const Pair& pair, std::int64_t least) {
  return is_sound(pair.height, least) && is_sound(pair.width, least);
}

// The elements [begin, end) of a dimension, and the divisor, which may include
// padding.
struct Window {
  std::int64_t begin;
  std::int64_t end;
  std::int64_t count;
};
using Windows = std::vector<Window>;

struct PoolOptions {
  Pair kernel;
  Pair stride;  // 0: the kernel's size.
  Pair padding;
  Pair dilation;
  bool ceil_mode;
};

// The number of windows in each dimension for images of this size.
//   InvalidArgument  the options are invalid, or no window fits; names
//                    `operation`
Pair count_windows(const Tensor& x, const PoolOptions& options,
                   const char* operation);

// The images [n, c, h, w], or one image [c, h, w], in 4 dimensions.
//   InvalidArgument  x is neither, is empty other than in n, or is not of a
//                    floating dtype
Tensor as_images(const Tensor& x, const char* operation);

}  // namespace hvd::autograd
