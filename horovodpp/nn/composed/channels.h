// SPDX-License-Identifier: Apache-2.0
// Modules on channels: dropout of whole channels, dropout for SELU, and
// normalization across channels.
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/nn/module.h"

namespace HVD_EXPORT hvd {
namespace nn {

// In training, sets each channel of [n, c, ...] to 0 with probability p and
// scales the others by 1 / (1 - p). In evaluation, the identity.
class ChannelDropout : public Module {
 public:
  Tensor forward(const Tensor& input) override;

 protected:
  // Of inputs [n, c, ...] with `dims` dimensions behind the channels. With
  // `unbatched`, inputs without n are valid.
  //   InvalidArgument  p is not in [0, 1]
  ChannelDropout(double p, std::int64_t dims, bool unbatched);

 private:
  const double p_;
  const std::int64_t dims_;
  const bool unbatched_;
};

// Of [n, c, length] or [c, length].
class Dropout1d : public ChannelDropout {
 public:
  explicit Dropout1d(double p = 0.5) : ChannelDropout(p, 1, true) {}
};
// Of [n, c, height, width]. As in PyTorch, three dimensions are [n, c, length].
class Dropout2d : public ChannelDropout {
 public:
  explicit Dropout2d(double p = 0.5) : ChannelDropout(p, 2, false) {}
};
// Of [n, c, depth, height, width] or [c, depth, height, width].
class Dropout3d : public ChannelDropout {
 public:
  explicit Dropout3d(double p = 0.5) : ChannelDropout(p, 3, true) {}
};

// Dropout that keeps mean 0 and variance 1 behind SELU (Klambauer et al. 2017):
// sets elements to SELU's least value, and scales and shifts all.
class AlphaDropout : public Module {
 public:
  //   InvalidArgument  p is not in [0, 1]
  explicit AlphaDropout(double p = 0.5);
  Tensor forward(const Tensor& input) override;

 protected:
  // With one decision for each element of a shape that broadcasts to the input.
  Tensor dropped(const Tensor& input, const autograd::Dims& decisions) const;

 private:
  const double p_;
};

// The same for whole channels of [n, c, ...].
class FeatureAlphaDropout : public AlphaDropout {
 public:
  using AlphaDropout::AlphaDropout;
  //   InvalidArgument  the input has less than two dimensions
  Tensor forward(const Tensor& input) override;
};

struct LocalResponseNormOptions {
  double alpha = 1e-4;
  double beta = 0.75;
  double k = 1.0;
};

// x / (k + alpha mean(x²))^beta, with the mean over `size` adjacent channels of
// [n, c, ...], zeros beyond the ends (Krizhevsky et al. 2012).
class LocalResponseNorm : public Module {
 public:
  //   InvalidArgument  the size is not positive
  explicit LocalResponseNorm(std::int64_t size,
                             const LocalResponseNormOptions& options = {});
  Tensor forward(const Tensor& input) override;

 private:
  const std::int64_t size_;
  const LocalResponseNormOptions options_;
};

}  // namespace nn
}  // namespace hvd
