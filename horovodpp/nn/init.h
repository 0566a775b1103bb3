// SPDX-License-Identifier: Apache-2.0
// Initialization of parameters, and its seed.
//
//   hvd::manual_seed(1);
//   hvd::nn::init::kaiming_normal_(conv->weight(), {.mode = FanMode::kFanOut});
//
// Values come from this thread's generator. The distributions equal PyTorch's
// functions of the same names; the random numbers differ.
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/base/dims.h"
#include "horovodpp/tensor/base/generator.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {
namespace nn {

// Seeds this thread's generator, from which modules draw.
using hvd::manual_seed;

// A new parameter, uniform in [-bound, bound).
Tensor uniform(const autograd::Dims& shape, double bound,
               DType dtype = DType::kF32);

// The bound sqrt(6 / ((1 + a^2) fan_in)) with a = sqrt 5: 1 / sqrt(fan_in).
double kaiming_uniform_bound(std::int64_t fan_in);

// Each function fills `tensor`, of a floating-point dtype, in place and
// unrecorded, and returns it. InvalidArgument for another dtype, or an invalid
// range or deviation.
namespace init {

const Tensor& constant_(const Tensor& tensor, double value);
const Tensor& zeros_(const Tensor& tensor);
const Tensor& ones_(const Tensor& tensor);
// Uniform in [from, to).
const Tensor& uniform_(const Tensor& tensor, double from = 0.0,
                       double to = 1.0);
const Tensor& normal_(const Tensor& tensor, double mean = 0.0,
                      double deviation = 1.0);

struct TruncNormalOptions {
  double mean = 0.0;
  double deviation = 1.0;
  double low = -2.0;  // Absolute, not in units of the deviation.
  double high = 2.0;
};
// Normal; values outside of [low, high] are redrawn.
const Tensor& trunc_normal_(const Tensor& tensor,
                            const TruncNormalOptions& options = {});

// The number of inputs per output, and of outputs per input, for a weight [out,
// in, ...] of a linear map or convolution.
//   InvalidArgument  the weight has fewer than two dimensions
struct Fans {
  std::int64_t in = 0;
  std::int64_t out = 0;
};
Fans fans_of(const Tensor& weight);

enum class FanMode { kFanIn, kFanOut };
enum class Nonlinearity { kLinear, kSigmoid, kTanh, kRelu, kLeakyRelu, kSelu };

// The factor for weights before a nonlinearity that preserves the variance.
// `negative_slope` is for a leaky ReLU.
double calculate_gain(Nonlinearity nonlinearity, double negative_slope = 0.01);

// Glorot and Bengio 2010: deviation gain sqrt(2 / (fan in + fan out)).
const Tensor& xavier_uniform_(const Tensor& weight, double gain = 1.0);
const Tensor& xavier_normal_(const Tensor& weight, double gain = 1.0);

struct KaimingOptions {
  double negative_slope = 0.0;  // For a leaky ReLU; PyTorch's `a`.
  FanMode mode = FanMode::kFanIn;
  Nonlinearity nonlinearity = Nonlinearity::kLeakyRelu;
};
// He et al. 2015: deviation gain / sqrt(fan).
const Tensor& kaiming_uniform_(const Tensor& weight,
                               const KaimingOptions& options = {});
const Tensor& kaiming_normal_(const Tensor& weight,
                              const KaimingOptions& options = {});

}  // namespace init
}  // namespace nn
}  // namespace hvd
