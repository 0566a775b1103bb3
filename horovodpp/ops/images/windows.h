// SPDX-License-Identifier: Apache-2.0
// The windows of pooling along one dimension, and checks shared by pooling and
// convolution.
#pragma once

#include <cstdint>
#include <vector>

#include "horovodpp/kernel/products/conv_options.h"
#include "horovodpp/tensor/base/dims.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

// Whether a kernel, stride, dilation, padding or size is in [least, 2^31), so
// that sizes computed from it cannot overflow.
bool is_sound(std::int64_t number, std::int64_t least);
inline bool is_sound(const Pair& pair, std::int64_t least) {
  return is_sound(pair.height, least) && is_sound(pair.width, least);
}
inline bool is_sound(const Triple& sizes, std::int64_t least) {
  return is_sound(sizes.depth, least) && is_sound(sizes.height, least) &&
         is_sound(sizes.width, least);
}

// Sizes of 1 or 2 dimensions as sizes of 3, with `front` in the first ones.
inline Triple in_3d(std::int64_t width, std::int64_t front) {
  return {front, front, width};
}
inline Triple in_3d(const Pair& sizes, std::int64_t front) {
  return {front, sizes.height, sizes.width};
}
inline Triple in_3d(const Triple& sizes, std::int64_t) { return sizes; }

// The depth (1 in 2 dimensions), height and width of [a, b, ...].
Triple sizes_behind_two(const Dims& shape);
// [first, second, ...], with a depth in 3 dimensions.
Dims shape_of(std::int64_t first, std::int64_t second, const Triple& sizes,
              int dims);

// The elements [begin, end) of a dimension, and the divisor, which may include
// padding.
struct Window {
  std::int64_t begin;
  std::int64_t end;
  std::int64_t count;
};
using Windows = std::vector<Window>;

struct PoolOptions {
  Triple kernel;
  Triple stride;
  Triple padding;
  Triple dilation;
  bool ceil_mode;
};

// The options of a pool of 1, 2 or 3 dimensions, with its strides filled in.
template <typename Options>
PoolOptions pool_options(const Options& o) {
  using Size = decltype(o.kernel);
  Triple dilation = 1;
  if constexpr (requires { o.dilation; }) dilation = in_3d(o.dilation, 1);
  return {in_3d(o.kernel, 1),
          in_3d(o.stride == Size(0) ? o.kernel : o.stride, 1),
          in_3d(o.padding, 0), dilation, o.ceil_mode};
}

// The number of windows in each dimension for images of this size.
//   InvalidArgument  the options are invalid, or no window fits; names
//                    `operation`
Triple count_windows(const Triple& image, const PoolOptions& options,
                     const char* operation);

// Of a result; more is no memory of any machine.
inline constexpr double kMostElements = 0x1p45;

// The numbers of windows of an adaptive pool.
//   InvalidArgument  one is not positive, or not less than 2^31, or their
//                    product is larger than kMostElements
Triple checked_size(const Triple& size, const char* operation);

// The `count` windows of PyTorch's adaptive pools over `size` elements.
Windows covering_windows(std::int64_t size, std::int64_t count);

// Calls f(side) for the depth, the height and the width of a Triple.
template <typename F>
Triple for_each_side(F f) {
  return {f(&Triple::depth), f(&Triple::height), f(&Triple::width)};
}

// Images of 1, 2 or 3 dimensions as [n, c, (depth,) height, width].
class Images {
 public:
  // x [n, c, ...], or one image [c, ...].
  //   InvalidArgument  x is neither, is empty other than in n, or is not of a
  //                    floating dtype; names `operation`
  Images(const Tensor& x, int dims, const char* operation);

  const Tensor& tensor() const { return tensor_; }
  Triple sizes() const { return sizes_behind_two(tensor_.shape()); }
  // The dimensions of images: 2 or 3.
  int dims() const { return static_cast<int>(tensor_.dim()) - 2; }

  // `result` for tensor(), in the dimensions of x.
  Tensor restored(const Tensor& result) const;

 private:
  bool is_one_;
  bool is_row_;
  Tensor tensor_;
};

// The dimensions of a Size.
template <typename Size>
constexpr int kDims = 1;
template <>
inline constexpr int kDims<Pair> = 2;
template <>
inline constexpr int kDims<Triple> = 3;

}  // namespace hvd::autograd
