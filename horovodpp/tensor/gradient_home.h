// SPDX-License-Identifier: Apache-2.0
// A GradientHome is the preferred memory for the gradient of one leaf, such as
// a place in an arena of the job. The next gradient is created there if no live
// tensor uses the memory. Otherwise the gradient is an ordinary tensor.
//
//   auto home = std::make_shared<GradientHome>(memory, parameter);
//   set_gradient_home(parameter, home);      // autograd/graph/accumulate_grad.h
//
// Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>

#include "horovodpp/core/dtype.h"
#include "horovodpp/tensor/base/dims.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd {
namespace autograd {

class GradientHome : public std::enable_shared_from_this<GradientHome> {
 public:
  // For gradients of this shape, dtype and (dense) strides. `memory` must be
  // large enough, and aligned for the dtype.
  GradientHome(std::shared_ptr<void> memory, const Dims& shape,
               const Dims& strides, DType dtype);
  ~GradientHome();
  GradientHome(const GradientHome&) = delete;
  GradientHome& operator=(const GradientHome&) = delete;

  // An uninitialized tensor on the memory; undefined while an earlier one
  // lives.
  Tensor take();

  bool fits(const Dims& shape, const Dims& strides, DType dtype) const {
    return dtype == dtype_ && shape == shape_ && strides == strides_;
  }
  // Whether `tensor` lies entirely within this home.
  bool holds(const Tensor& tensor) const;

  const std::shared_ptr<void>& memory() const { return memory_; }

  // Whether this process has any home.
  static bool any() { return count.load(std::memory_order_relaxed) > 0; }

 private:
  static constinit std::atomic<int> count;

  const std::shared_ptr<void> memory_;
  const Dims shape_;
  const Dims strides_;
  const DType dtype_;
  std::atomic<bool> is_taken_ = false;
};

// While it lives, an unrecorded new tensor on this thread is created in one of
// these homes, if one fits. Scopes nest; the innermost wins.
class ExpectedGradients {
 public:
  ExpectedGradients();
  ~ExpectedGradients();
  ExpectedGradients(const ExpectedGradients&) = delete;
  ExpectedGradients& operator=(const ExpectedGradients&) = delete;

  // Ignores homes beyond the capacity.
  void add(GradientHome& home) {
    if (count_ < homes_.size()) homes_[count_++] = &home;
  }
  // A tensor in a free home that fits; undefined if none.
  Tensor make(const Dims& shape, const Dims& strides, DType dtype) const;

 private:
  const ExpectedGradients* const before_;
  std::array<GradientHome*, 8> homes_ = {};
  std::size_t count_ = 0;
};

}  // namespace autograd
}  // namespace hvd
