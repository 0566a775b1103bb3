// SPDX-License-Identifier: Apache-2.0
// A TensorView is borrowed memory with its dtype, shape and device. Elements
// are contiguous, last dimension fastest. A ConstTensorView is read-only.
//
//   std::vector<float> grad(1280);
//   TensorView view = TensorView::of(grad.data(), {128, 10});
//
// A view owns nothing: the caller keeps the memory alive as long as the
// callee's contract says.
#pragma once

#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

#include "horovodpp/core/device.h"
#include "horovodpp/core/dtype.h"
#include "horovodpp/core/export.h"
#include "horovodpp/core/shape.h"

namespace HVD_EXPORT hvd {

template <typename Void>
class BasicTensorView {
 public:
  BasicTensorView() = default;
  BasicTensorView(Void* data, DType dtype, Shape shape, Device device = {})
      : data_(data), dtype_(dtype), device_(device), shape_(std::move(shape)) {}

  // A writable view converts to a read-only one.
  template <typename Other,
            typename = std::enable_if_t<std::is_const_v<Void> &&
                                        !std::is_const_v<Other>>>
  BasicTensorView(const BasicTensorView<Other>& other)
      : BasicTensorView(other.data(), other.dtype(), other.shape(),
                        other.device()) {}

  template <typename T>
  static BasicTensorView of(T* data, Shape shape) {
    return BasicTensorView(data, dtype_of<std::remove_const_t<T>>,
                           std::move(shape));
  }

  Void* data() const { return data_; }
  DType dtype() const { return dtype_; }
  Device device() const { return device_; }
  const Shape& shape() const { return shape_; }
  std::int64_t num_elements() const { return shape_.num_elements(); }
  std::size_t bytes() const {
    return static_cast<std::size_t>(num_elements()) * size_of(dtype_);
  }

  // "float32[128,10]".
  std::string to_string() const { return name_of(dtype_) + shape_.to_string(); }

 private:
  Void* data_ = nullptr;
  DType dtype_ = DType::kF32;
  Device device_;
  Shape shape_ = Shape({0});
};

using TensorView = BasicTensorView<void>;
using ConstTensorView = BasicTensorView<const void>;

}  // namespace hvd
