// SPDX-License-Identifier: Apache-2.0
// A GradientHome is memory that the gradient of one leaf is to lie in, such as a
// place in an arena of the job: whenever no tensor on it is alive, the next gradient
// is made there. Nothing else changes. A gradient that somebody still holds, or that
// was made elsewhere, is ordinary, and so is the next one until the place is free.
//
//   auto home = std::make_shared<GradientHome>(memory, parameter);
//   set_gradient_home(parameter, home);      // autograd/accumulate_grad.h
//
// Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>

#include "horovodpp/core/dtype.h"
#include "horovodpp/tensor/dims.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd {
namespace autograd {

class GradientHome : public std::enable_shared_from_this<GradientHome> {
 public:
  // For gradients of this shape, dtype and (dense) strides. `memory` has room for
  // them, and is aligned for the dtype.
  GradientHome(std::shared_ptr<void> memory, const Dims& shape,
               const Dims& strides, DType dtype);
  ~GradientHome();
  GradientHome(const GradientHome&) = delete;
  GradientHome& operator=(const GradientHome&) = delete;

  // A tensor on the memory, of any content; undefined while an earlier one lives.
  Tensor take();

  bool fits(const Dims& shape, const Dims& strides, DType dtype) const {
    return dtype == dtype_ && shape == shape_ && strides == strides_;
  }
  // Whether all of `tensor` lies here.
  bool holds(const Tensor& tensor) const;

  const std::shared_ptr<void>& memory() const { return memory_; }

  // Whether there is any in this process.
  static bool any() { return count.load(std::memory_order_relaxed) > 0; }

 private:
  static constinit std::atomic<int> count;

  const std::shared_ptr<void> memory_;
  const Dims shape_;
  const Dims strides_;
  const DType dtype_;
  std::atomic<bool> is_taken_ = false;
};

// While it is in scope, a tensor that is made on this thread is made in one of these
// homes, if it fits there and nothing is recorded. Scopes nest; the innermost counts.
class ExpectedGradients {
 public:
  ExpectedGradients();
  ~ExpectedGradients();
  ExpectedGradients(const ExpectedGradients&) = delete;
  ExpectedGradients& operator=(const ExpectedGradients&) = delete;

  // Of more than there is room for the others are not expected.
  void add(GradientHome& home) {
    if (count_ < homes_.size()) homes_[count_++] = &home;
  }
  // Undefined: there is no such home, or none is free.
  Tensor make(const Dims& shape, const Dims& strides, DType dtype) const;

 private:
  const ExpectedGradients* const before_;
  std::array<GradientHome*, 8> homes_ = {};
  std::size_t count_ = 0;
};

// The innermost scope of this thread; null: none.
[[gnu::tls_model(
    "initial-exec")]] extern constinit thread_local const ExpectedGradients*
    expected_gradients;

}  // namespace autograd
}  // namespace hvd
