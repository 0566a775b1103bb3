// SPDX-License-Identifier: Apache-2.0
// Operations that draw from the thread's default generator. What they drew is
// a function of its state, so that they draw the same again when a checkpoint
// replays them.
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/generator.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// While training: x / (1 - p), but 0 with probability p, for each element. Else
// x. Nothing is kept for backward, which draws again.
//   InvalidArgument  p is not in [0, 1]
Tensor dropout(const Tensor& x, double p = 0.5, bool training = true);

// The same for all of x[i] at once.
Tensor drop_path(const Tensor& x, double p = 0.0, bool training = true);

namespace autograd {

// Fills a tensor in place: uniform in [low, high); normal; 1 with `probability`
// and else 0. float32 or float64, and any dtype for the last. Errors as of
// check_inplace() (inplace.h).
void uniform_(const Tensor& x, double low = 0.0, double high = 1.0);
void normal_(const Tensor& x, double mean = 0.0, double deviation = 1.0);
void bernoulli_(const Tensor& x, double probability = 0.5);

// Which elements of a dropout are kept, as a function of where the generator
// was. Block b of a draw is kept or dropped by the words of 16 blocks of the
// generator, so that 64 elements are decided at once.
class DropoutMask {
 public:
  // Draws for `count` elements from `generator`.
  DropoutMask(Generator& generator, std::int64_t count, double p);

  // 1 / (1 - p); 0 for p = 1.
  double scale() const { return scale_; }

  // out[i] = x[i] scale() or 0, for elements first + i, i below n; `first` is a
  // multiple of 64. `out` may be x.
  void apply(const float* x, float* out, std::int64_t first,
             std::int64_t n) const;
  void apply(const double* x, double* out, std::int64_t first,
             std::int64_t n) const;

 private:
  Generator::State start_;
  std::uint64_t threshold_;  // Words below it are kept.
  double scale_;
};

}  // namespace autograd
}  // namespace hvd
