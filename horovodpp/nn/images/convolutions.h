// SPDX-License-Identifier: Apache-2.0
// Convolutions of images [n, in, size] as modules. A size is a number, a Pair or
// a Triple.
//
//   hvd::nn::Conv2d conv(1, 6, 5, {.padding = 2});
//   hvd::Tensor y = conv(images);        // [n, 1, 28, 28] -> [n, 6, 28, 28]
//   hvd::nn::ConvTranspose2d back(6, 1, 2, {.stride = 2});
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/nn/module.h"
#include "horovodpp/ops/images/images.h"

namespace HVD_EXPORT hvd {
namespace nn {

template <typename Size>
struct ConvOptions {
  Size stride = 1;
  Size padding = 0;  // Zeros on each side of the image.
  Size dilation = 1;
  std::int64_t groups = 1;
  bool same_padding = false;  // As of hvd::ConvOptions.
  bool bias = true;
  DType dtype = DType::kF32;
};
using Conv1dOptions = ConvOptions<std::int64_t>;
using Conv2dOptions = ConvOptions<Pair>;
using Conv3dOptions = ConvOptions<Triple>;

template <typename Size>
struct ConvTransposeOptions {
  Size stride = 1;
  Size padding = 0;
  Size output_padding = 0;  // Added to one side of the result.
  Size dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
  DType dtype = DType::kF32;
};
using ConvTranspose1dOptions = ConvTransposeOptions<std::int64_t>;
using ConvTranspose2dOptions = ConvTransposeOptions<Pair>;
using ConvTranspose3dOptions = ConvTransposeOptions<Triple>;

// The parameters of both kinds.
class Convolution : public Module {
 public:
  Tensor weight() const { return effective(weight_); }
  const Tensor& bias() const { return bias_; }  // Undefined without bias.

 protected:
  // Registers "weight" [first, second, kernel] and, if wanted, "bias"
  // [channels], both uniform in ±1/sqrt(second kernel).
  struct Parameters {
    std::int64_t first;
    std::int64_t second;
    autograd::Dims kernel;
    std::int64_t channels;
    bool bias;
    DType dtype;
  };
  void register_parameters(const Parameters& wanted);

  Tensor weight_;
  Tensor bias_;
};

// Convolution (cross-correlation): [n, in, size] -> [n, out, size].
template <typename Size>
class Conv : public Convolution {
 public:
  // "weight" [out, in / groups, kernel] and "bias" [out].
  //   InvalidArgument  a size is not positive, or the groups do not divide the
  //                    channels
  Conv(std::int64_t in_channels, std::int64_t out_channels, Size kernel,
       const ConvOptions<Size>& options = {});
  Tensor forward(const Tensor& input) override;

 private:
  const hvd::ConvOptions<Size> options_;
};
using Conv1d = Conv<std::int64_t>;
using Conv2d = Conv<Pair>;
using Conv3d = Conv<Triple>;

// The gradient of a convolution by its input, plus a bias: [n, in, size] ->
// [n, out, (size - 1) stride - 2 padding + dilation (kernel - 1) +
// output_padding + 1].
template <typename Size>
class ConvTranspose : public Convolution {
 public:
  // "weight" [in, out / groups, kernel] and "bias" [out].
  //   InvalidArgument  a size is not positive, or the groups do not divide the
  //                    channels
  ConvTranspose(std::int64_t in_channels, std::int64_t out_channels,
                Size kernel, const ConvTransposeOptions<Size>& options = {});
  Tensor forward(const Tensor& input) override;

 private:
  const hvd::ConvTransposeOptions<Size> options_;
};
using ConvTranspose1d = ConvTranspose<std::int64_t>;
using ConvTranspose2d = ConvTranspose<Pair>;
using ConvTranspose3d = ConvTranspose<Triple>;

extern template class Conv<std::int64_t>;
extern template class Conv<Pair>;
extern template class Conv<Triple>;
extern template class ConvTranspose<std::int64_t>;
extern template class ConvTranspose<Pair>;
extern template class ConvTranspose<Triple>;

}  // namespace nn
}  // namespace hvd
