// SPDX-License-Identifier: Apache-2.0
// Scratch is temporary memory for a computation, aligned for vectors. It comes
// from the tensor allocator, which counts it.
#pragma once

#include <cstddef>
#include <utility>

#include "horovodpp/kernel/allocator.h"

namespace hvd::autograd {

class Scratch {
 public:
  // Empty.
  Scratch() = default;
  // Not initialized.
  explicit Scratch(std::size_t bytes)
      : data_(cpu_allocator().allocate(bytes)), bytes_(bytes) {}
  // `count` elements of type T, not initialized.
  template <typename T>
  static Scratch of(std::size_t count) {
    return Scratch(count * sizeof(T));
  }
  Scratch(Scratch&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  Scratch& operator=(Scratch&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Scratch() {
    if (data_ != nullptr) cpu_allocator().deallocate(data_, bytes_);
  }

  bool empty() const { return data_ == nullptr; }
  void* data() const { return data_; }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace hvd::autograd
