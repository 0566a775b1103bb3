// SPDX-License-Identifier: Apache-2.0
// Functions that create tensors.
//
//   hvd::Tensor w = hvd::randn({256, 784}, {.requires_grad = true});
//   hvd::Tensor y = hvd::from_vector<std::int64_t>({3, 1, 4}, {3});
//
// InvalidArgument if a shape is malformed; hvd::Error (ResourceExhausted) if
// memory runs out.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/kernel/scalar_to.h"
#include "horovodpp/tensor/base/dims.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

struct TensorOptions {
  DType dtype = DType::kF32;
  bool requires_grad = false;
  // Elements other than those of empty(), zeros(), ones() and full() are made
  // on the CPU and copied.
  Device device = {};
  // In pinned memory, from which and to which GPUs copy while the host goes on;
  // needs a GPU, and is for the CPU.
  bool pinned = false;
};

// Uninitialized.
Tensor empty(const autograd::Dims& shape, const TensorOptions& options = {});
Tensor zeros(const autograd::Dims& shape, const TensorOptions& options = {});
Tensor ones(const autograd::Dims& shape, const TensorOptions& options = {});
Tensor full(const autograd::Dims& shape, double value,
            const TensorOptions& options = {});

// With the shape, dtype, device and order of dimensions in memory of `like`.
Tensor empty_like(const Tensor& like);
// Row-major, with the shape, dtype and device of `like`.
Tensor zeros_like(const Tensor& like);
Tensor ones_like(const Tensor& like);

// start, start + step, … below end.
Tensor arange(double start, double end, double step = 1.0,
              const TensorOptions& options = {.dtype = DType::kI64});

// Uniform in [0,1), or normal with mean 0 and variance 1, from the thread's
// default generator. float32 or float64.
Tensor rand(const autograd::Dims& shape, const TensorOptions& options = {});
Tensor randn(const autograd::Dims& shape, const TensorOptions& options = {});

// bernoulli(): elements of any dtype that are 1 with `probability`, else 0.
// randperm(): 0 … n-1 in random order, int64. Both use the thread's default
// generator.
Tensor bernoulli(const autograd::Dims& shape, double probability,
                 const TensorOptions& options = {});
Tensor randperm(std::int64_t n);

// A row-major copy of `values`.
//   InvalidArgument  the number of values does not match `shape`
template <typename T>
Tensor from_vector(const std::vector<T>& values, const autograd::Dims& shape,
                   bool requires_grad = false);

// A tensor on the caller's memory, which is contiguous, aligned for its dtype,
// and valid until release(data). `release` is called once, after the last
// tensor on the memory is destroyed.
//   InvalidArgument  unaligned, or null for a nonempty shape; `release` is not
//                    called
Tensor from_blob(void* data, const autograd::Dims& shape, DType dtype,
                 std::function<void(void*)> release = {});

namespace autograd {

// Uninitialized, with these strides, which must be dense.
Tensor empty_strided(const Dims& shape, const Dims& strides, DType dtype,
                     Device device = {});

// Fills a tensor on a GPU.
void fill_there(const Tensor& out, double value);

// Checks that `dtype` holds `value`: integers hold whole numbers in range, bool
// holds 0 and 1, and floating-point types round.
//   InvalidArgument  it does not; names `operation`
void check_held(double value, DType dtype, const char* operation);

}  // namespace autograd
}  // namespace hvd
