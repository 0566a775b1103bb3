// SPDX-License-Identifier: Apache-2.0
// Random integers, and tensors filled from distributions, from the thread's
// default generator, so that a recomputation repeats them.
//
//   hvd::Tensor dice = hvd::randint(1, 7, {2, 3});
//   hvd::autograd::exponential_(waits, 0.5);
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/base/dims.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// Integers from `low` to `high` - 1, all equally likely; of any dtype.
//   InvalidArgument  there are none, they span more than 2^53, or the dtype does
//                    not hold them
Tensor randint(std::int64_t low, std::int64_t high, const autograd::Dims& shape,
               const TensorOptions& options = {.dtype = DType::kI64});

namespace autograd {

// Fill a floating-point tensor in place; errors are those of uniform_().
//   InvalidArgument  a parameter is out of its range

// Density rate e^(-rate x), rate > 0.
void exponential_(const Tensor& x, double rate = 1.0);
// e^y of a normal y.
void log_normal_(const Tensor& x, double mean = 1.0, double deviation = 2.0);
// Density 1 / (pi scale (1 + ((x - median) / scale)^2)), scale > 0.
void cauchy_(const Tensor& x, double median = 0.0, double scale = 1.0);
// Trials up to the first success, 1 at least; 0 < probability < 1. Any dtype but
// bool.
void geometric_(const Tensor& x, double probability);

}  // namespace autograd
}  // namespace hvd
