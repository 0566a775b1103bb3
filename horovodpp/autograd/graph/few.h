// SPDX-License-Identifier: Apache-2.0
// A grow-only list that stores up to N members inline, without allocation.
#pragma once

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {
namespace autograd {

template <typename T, std::size_t N>
class Few {
 public:
  void push_back(T member) {
    if (size_ < N) {
      few_[size_] = std::move(member);
    } else {
      if (size_ == N) {
        many_.reserve(2 * N);
        for (T& each : few_) many_.push_back(std::move(each));
      }
      many_.push_back(std::move(member));
    }
    ++size_;
  }

  std::size_t size() const { return size_; }
  T* data() { return size_ <= N ? few_.data() : many_.data(); }
  const T* data() const { return size_ <= N ? few_.data() : many_.data(); }
  T& operator[](std::size_t i) { return data()[i]; }
  const T& operator[](std::size_t i) const { return data()[i]; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }

 private:
  std::size_t size_ = 0;
  std::array<T, N> few_;
  std::vector<T> many_;  // All members, once there are more than N.
};

}  // namespace autograd
}  // namespace hvd
