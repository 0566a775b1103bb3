// SPDX-License-Identifier: Apache-2.0
// The loss and the inputs of tasks that several tests train, as
// test/fixtures/torch_models.py has them.
#pragma once

#include "horovodpp/ops.h"
#include "test/models/same_numbers.h"

namespace hvd {

// The cross entropy of classes, or the mean square of numbers.
inline Tensor task_loss(const Tensor& logits, const Tensor& targets) {
  if (is_floating_point(targets.dtype())) return mse_loss(logits, targets);
  return cross_entropy(logits.reshape({-1, logits.size(-1)}),
                       targets.reshape({-1}));
}

// Images with the time of each in a second channel: float64 [n, 2, 28, 28].
inline Tensor same_noisy_images(std::int64_t n) {
  const Tensor time = (same_uniform("time", {n, 1, 1, 1}) + 1.0) * 0.5;
  return cat(
      {same_uniform("images", {n, 1, 28, 28}), time.expand({n, 1, 28, 28})}, 1);
}

inline Tensor same_noise(std::int64_t n) {
  return same_uniform("noise", {n, 1, 28, 28});
}

}  // namespace hvd
