// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/kernel/products/convolution.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "horovodpp/kernel/products/blas.h"
#include "horovodpp/kernel/scratch.h"
#include "horovodpp/kernel/visit.h"

namespace hvd::autograd {
namespace {

std::atomic<bool> winograd_allowed{true};

// Convolution by matrix products: y = windows w^T. Row (n, od, oh, ow) of
// the windows of one group holds the part of x under the kernel at that place of
// y. A row is ordered by place in the kernel and channel: [n od oh ow, kd kh kw
// c]. The weight w is [out, kd kh kw c].
template <typename T>
class ProductConvolution {
 public:
  ProductConvolution(const ConvShape& shape, const ConvBuffers& buffers)
      : s_(shape),
        x_(static_cast<T*>(buffers.x)),
        y_(static_cast<T*>(buffers.y)),
        weight_(static_cast<T*>(buffers.weight)),
        bias_(static_cast<const T*>(buffers.bias)),
        in_(s_.in / s_.options.groups),
        out_(s_.out / s_.options.groups),
        window_(s_.kernel.product() * in_),
        rows_(s_.result.product()),
        images_(std::min(
            s_.n, std::max<std::int64_t>(
                      1, kBlockBytes / static_cast<std::int64_t>(sizeof(T)) /
                             (rows_ * window_)))) {}

  void run(ConvPass pass) {
    const Scratch windows = buffer(images_ * rows_ * window_);
    const Scratch ordered = buffer(s_.out * window_);
    T* w = ordered.as<T>();
    if (pass == ConvPass::kBackwardWeights) {
      std::fill_n(w, s_.out * window_, T(0));
      partial_ = buffer(out_ * window_);
    } else {
      reorder_weight(w, true);
    }
    if (pass == ConvPass::kBackwardData) {
      std::fill_n(x_, s_.n * s_.image.product() * s_.in, T(0));
    }
    for (std::int64_t g = 0; g < s_.options.groups; ++g) {
      for (std::int64_t n = 0; n < s_.n; n += images_) {
        block(pass, {n, std::min(images_, s_.n - n), g}, w + g * out_ * window_,
              windows.as<T>());
      }
    }
    if (pass == ConvPass::kBackwardWeights) reorder_weight(w, false);
    if (pass == ConvPass::kForward && bias_ != nullptr) add_bias();
  }

 private:
  // Bytes of windows laid out at once, so that they stay in a cache.
  static constexpr std::int64_t kBlockBytes = 1 << 20;
  struct Block {
    std::int64_t first;
    std::int64_t images;
    std::int64_t group;
  };

  static Scratch buffer(std::int64_t count) {
    return Scratch::of<T>(static_cast<std::size_t>(count));
  }

  void block(ConvPass pass, const Block& b, T* w, T* windows) {
    const std::int64_t rows = b.images * rows_;
    const blas::Matrix<const T> y{y_at(b), s_.out};
    switch (pass) {
      case ConvPass::kForward:
        walk_windows(b, windows, true);
        blas::gemm({rows, out_, window_}, {windows, window_},
                   {w, window_, true}, blas::Matrix<T>{y_at(b), s_.out});
        break;
      case ConvPass::kBackwardData:
        blas::gemm({rows, window_, out_}, y, {w, window_},
                   blas::Matrix<T>{windows, window_});
        walk_windows(b, windows, false);
        break;
      case ConvPass::kBackwardWeights:
        walk_windows(b, windows, true);
        blas::gemm({out_, window_, rows}, {y.data, y.stride, true},
                   {windows, window_},
                   blas::Matrix<T>{partial_.as<T>(), window_});
        for (std::int64_t i = 0; i < out_ * window_; ++i) {
          w[i] += partial_.as<T>()[i];
        }
    }
  }

  T* y_at(const Block& b) {
    return y_ + b.first * rows_ * s_.out + b.group * out_;
  }

  // Copies the windows of a block from x, or adds them to x.
  void walk_windows(const Block& b, T* row, bool copies) {
    for (std::int64_t n = b.first; n < b.first + b.images; ++n) {
      T* image = x_ + n * s_.image.product() * s_.in + b.group * in_;
      for (std::int64_t od = 0; od < s_.result.depth; ++od) {
        for (std::int64_t oh = 0; oh < s_.result.height; ++oh) {
          for (std::int64_t ow = 0; ow < s_.result.width;
               ++ow, row += window_) {
            walk_window(image, {od, oh, ow}, row, copies);
          }
        }
      }
    }
  }

  void walk_window(T* image, const Triple& place, T* row, bool copies) {
    const Conv3dOptions& o = s_.options;
    const std::int64_t front = place.depth * o.stride.depth - o.padding.depth;
    const std::int64_t top = place.height * o.stride.height - o.padding.height;
    const std::int64_t left = place.width * o.stride.width - o.padding.width;
    for (std::int64_t kd = 0; kd < s_.kernel.depth; ++kd) {
      const std::int64_t d = front + kd * o.dilation.depth;
      for (std::int64_t kh = 0; kh < s_.kernel.height; ++kh) {
        const std::int64_t h = top + kh * o.dilation.height;
        const bool inside =
            d >= 0 && d < s_.image.depth && h >= 0 && h < s_.image.height;
        const std::int64_t line = (d * s_.image.height + h) * s_.image.width;
        row = walk_line(inside ? image + line * s_.in : nullptr, left, row,
                        copies);
      }
    }
  }

  // One row of a window, which begins at pixel `left` of a line of x; null
  // outside of the image. Returns the next row.
  T* walk_line(T* line, std::int64_t left, T* row, bool copies) {
    for (std::int64_t kw = 0; kw < s_.kernel.width; ++kw, row += in_) {
      const std::int64_t w = left + kw * s_.options.dilation.width;
      const bool inside = line != nullptr && w >= 0 && w < s_.image.width;
      if (!inside) {
        if (copies) std::fill_n(row, in_, T(0));
        continue;
      }
      T* pixel = line + w * s_.in;
      if (copies) {
        std::copy_n(pixel, in_, row);
      } else {
        for (std::int64_t c = 0; c < in_; ++c) pixel[c] += row[c];
      }
    }
    return row;
  }

  // Converts between [out, in, kd, kh, kw] and [out, kd, kh, kw, in].
  void reorder_weight(T* ordered, bool into) {
    const std::int64_t taps = s_.kernel.product();
    T* plain = weight_;
    for (std::int64_t o = 0; o < s_.out; ++o) {
      for (std::int64_t c = 0; c < in_; ++c) {
        for (std::int64_t k = 0; k < taps; ++k, ++plain) {
          T& other = ordered[(o * taps + k) * in_ + c];
          if (into) {
            other = *plain;
          } else {
            *plain = other;
          }
        }
      }
    }
  }

  void add_bias() {
    T* y = y_;
    for (std::int64_t i = 0; i < s_.n * rows_; ++i, y += s_.out) {
      for (std::int64_t o = 0; o < s_.out; ++o) y[o] += bias_[o];
    }
  }

  const ConvShape& s_;
  T* x_;
  T* y_;
  T* weight_;
  const T* bias_;
  std::int64_t in_;      // x channels of a group.
  std::int64_t out_;     // y channels of a group.
  std::int64_t window_;  // Elements of a window.
  std::int64_t rows_;    // Windows of an image.
  std::int64_t images_;  // Images per block.
  Scratch partial_;
};

}  // namespace

void convolve_by_products(ConvPass pass, const ConvShape& shape, DType dtype,
                          const ConvBuffers& buffers) {
  visit_floating(dtype, "conv2d", [&]<typename T>(TypeTag<T>) {
    ProductConvolution<T>(shape, buffers).run(pass);
  });
}

void set_winograd_allowed(bool allowed) { winograd_allowed = allowed; }
bool is_winograd_allowed() { return winograd_allowed; }

}  // namespace hvd::autograd
