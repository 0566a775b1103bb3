// SPDX-License-Identifier: Apache-2.0
// An IntSpan is a view of contiguous integers: a C++17 counterpart of
// std::span<const std::int64_t>. It converts to and from that and from any
// container of such integers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {

class IntSpan {
 public:
  using value_type = std::int64_t;

  constexpr IntSpan() = default;
  constexpr IntSpan(const std::int64_t* data, std::size_t size)
      : data_(data), size_(size) {}
  template <typename Container,
            typename = std::enable_if_t<
                std::is_convertible_v<
                    decltype(std::declval<const Container&>().data()),
                    const std::int64_t*> &&
                std::is_convertible_v<
                    decltype(std::declval<const Container&>().size()),
                    std::size_t>>>
  constexpr IntSpan(const Container& container)  // NOLINT
      : IntSpan(container.data(), container.size()) {}

  constexpr const std::int64_t* data() const { return data_; }
  constexpr std::size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr const std::int64_t* begin() const { return data_; }
  constexpr const std::int64_t* end() const { return data_ + size_; }
  constexpr std::int64_t operator[](std::size_t i) const { return data_[i]; }
  constexpr std::int64_t front() const { return data_[0]; }
  constexpr std::int64_t back() const { return data_[size_ - 1]; }
  // Without the first `count` elements; `count` is at most size().
  constexpr IntSpan subspan(std::size_t count) const {
    return {data_ + count, size_ - count};
  }

 private:
  const std::int64_t* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace hvd
