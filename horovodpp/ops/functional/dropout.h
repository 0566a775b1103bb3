// SPDX-License-Identifier: Apache-2.0
// Random operations, which draw from the thread's default generator. The
// numbers depend only on the generator's state, so a checkpoint's replay draws
// them again.
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/base/generator.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// In training: 0 with probability p, else x / (1 - p), per element. Otherwise
// x. Keeps no mask; backward draws it again.
//   InvalidArgument  p is not in [0, 1]
Tensor dropout(const Tensor& x, double p = 0.5, bool training = true);

// As dropout(), but keeps or drops each x[i] as a whole.
Tensor drop_path(const Tensor& x, double p = 0.0, bool training = true);

namespace autograd {

// Fills a tensor in place: uniform in [low, high); normal; 1 with
// `probability`, else 0. float32 or float64; bernoulli_() takes any dtype.
// Errors of check_inplace() (inplace.h).
void uniform_(const Tensor& x, double low = 0.0, double high = 1.0);
void normal_(const Tensor& x, double mean = 0.0, double deviation = 1.0);
void bernoulli_(const Tensor& x, double probability = 0.5);

// The mask of a dropout, as a function of the generator's state. The words of
// 16 generator blocks decide 64 elements at once.
class DropoutMask {
 public:
  // Draws for `count` elements from `generator`.
  DropoutMask(Generator& generator, std::int64_t count, double p);

  // 1 / (1 - p); 0 for p = 1.
  double scale() const { return scale_; }

  // For 0 <= i < n: out[i] = x[i] scale() or 0, by the mask of element first +
  // i. `first` is a multiple of 64. `out` may be x.
  void apply(const float* x, float* out, std::int64_t first,
             std::int64_t n) const;
  void apply(const double* x, double* out, std::int64_t first,
             std::int64_t n) const;

 private:
  Generator::State start_;
  std::uint64_t threshold_;  // Keep where the word is below.
  double scale_;
};

}  // namespace autograd
}  // namespace hvd
