// SPDX-License-Identifier: Apache-2.0
// Convolutions of 2 and 3 dimensions on plain memory, with the channels of images
// last. Two implementations exist: oneDNN, and the library's own matrix products.
//
// A convolution y = x * w has three passes, each of which computes one tensor
// from two others:
//
// - y from x and w;
// - the gradient of x from that of y and w;
// - the gradient of w from x and that of y.
//
// Thread-safe.
#pragma once

#include <cstdint>

#include "horovodpp/core/dtype.h"
#include "horovodpp/kernel/products/conv_options.h"

namespace hvd::autograd {

enum class ConvPass : std::uint8_t {
  kForward,          // y from x, weight and, if present, bias.
  kBackwardData,     // x from y and weight.
  kBackwardWeights,  // weight from x and y.
};

// Sizes of x [n, image, in], weight [out, in / groups, kernel], and
// y [n, result, out]; all positive. Images of 2 dimensions have a depth of 1.
struct ConvShape {
  std::int64_t n = 0;
  std::int64_t in = 0;
  std::int64_t out = 0;
  Triple image = 0;
  Triple result = 0;
  Triple kernel = 0;
  Conv3dOptions options = {};
  int dims = 2;
};

// Dense memory of one dtype; bias is [out], or null. A pass writes one buffer
// and reads the others that it needs.
struct ConvBuffers {
  void* x = nullptr;
  void* weight = nullptr;
  void* y = nullptr;
  void* bias = nullptr;
};

// By oneDNN. Returns false, with no effect, without oneDNN or if oneDNN has no
// fast implementation.
bool convolve_with_dnnl(ConvPass pass, const ConvShape& shape, DType dtype,
                        const ConvBuffers& buffers);

// By matrix products with the windows of x, laid out in rows ("im2col"). For
// float32 and float64.
void convolve_by_products(ConvPass pass, const ConvShape& shape, DType dtype,
                          const ConvBuffers& buffers);

// Whether 3 x 3 convolutions in float32 may use Winograd's minimal filtering
// F(4x4, 3x3). It takes a quarter of the products and loses about two bits. For
// all threads; initially true.
void set_winograd_allowed(bool allowed);
bool is_winograd_allowed();

}  // namespace hvd::autograd
