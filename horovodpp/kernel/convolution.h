// SPDX-License-Identifier: Apache-2.0
// What a 2-D convolution computes with: plain memory, images with their
// channels last, and two ways to do it, oneDNN and matrix products of our own.
//
// A convolution y = x * w is three passes, of which each computes one of the
// three tensors from the other two: y; the gradient of x from that of y and w;
// the gradient of w from x and that of y.
//
// Thread-safe.
#pragma once

#include <cstdint>

#include "horovodpp/core/dtype.h"
#include "horovodpp/kernel/conv_options.h"

namespace hvd::autograd {

enum class ConvPass : std::uint8_t {
  kForward,          // y from x, weight and, if there is one, bias.
  kBackwardData,     // x from y and weight.
  kBackwardWeights,  // weight from x and y.
};

// Sizes of x [n, height, width, in], weight [out, in / groups, kernel], and
// y [n, out_height, out_width, out]; all positive.
struct ConvShape {
  std::int64_t n = 0;
  std::int64_t in = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t out = 0;
  std::int64_t out_height = 0;
  std::int64_t out_width = 0;
  Pair kernel = 0;
  Conv2dOptions options = {};
};

// Dense memory of one dtype; bias is [out], or null. The pass writes one of
// them and reads the others that it needs.
struct ConvBuffers {
  void* x = nullptr;
  void* weight = nullptr;
  void* y = nullptr;
  void* bias = nullptr;
};

// By oneDNN. False, and nothing is done, if there is none or it has no fast way
// for this.
bool convolve_with_dnnl(ConvPass pass, const ConvShape& shape, DType dtype,
                        const ConvBuffers& buffers);

// By matrix products with the windows of x, laid out in rows ("im2col"). For
// float32 and float64.
void convolve_by_products(ConvPass pass, const ConvShape& shape, DType dtype,
                          const ConvBuffers& buffers);

// Whether convolutions of 3 x 3 in float32 may be done by Winograd's minimal
// filtering F(4x4, 3x3), which takes a quarter of the products and loses two
// bits or so. For all threads; initially true.
void set_winograd_allowed(bool allowed);
bool is_winograd_allowed();

}  // namespace hvd::autograd
