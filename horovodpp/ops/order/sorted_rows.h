// SPDX-License-Identifier: Apache-2.0
// The order of the elements of one row. A key is an unsigned number that orders
// as the element does, NaN last; equal keys keep their order.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "horovodpp/tensor/map.h"

namespace hvd::autograd {

template <typename T>
using KeyOf =
    std::conditional_t<sizeof(Loaded<T>) == 8, std::uint64_t, std::uint32_t>;

template <typename T>
KeyOf<T> key_of(T element) {
  using Key = KeyOf<T>;
  const auto x = loaded(element);
  if constexpr (std::is_floating_point_v<decltype(x)>) {
    if (x != x) return std::numeric_limits<Key>::max();
    constexpr Key kSign = Key{1} << (8 * sizeof(Key) - 1);
    // The sum makes -0 equal to 0.
    const Key bits = std::bit_cast<Key>(x + decltype(x)(0));
    return (bits & kSign) != 0 ? ~bits : bits | kSign;
  } else {
    using Signed = std::make_signed_t<Key>;
    constexpr Key kSign = Key{1} << (8 * sizeof(Key) - 1);
    return static_cast<Key>(static_cast<Signed>(x)) ^ kSign;
  }
}

template <typename Key>
struct Item {
  Key key;
  std::int64_t index;
  friend bool operator<(const Item& a, const Item& b) {
    return a.key != b.key ? a.key < b.key : a.index < b.index;
  }
};

// The key of an element in the wanted order.
template <typename T>
KeyOf<T> key_in_order(T element, bool descending) {
  const KeyOf<T> key = key_of(element);
  return descending ? static_cast<KeyOf<T>>(~key) : key;
}

// The elements of a row as items that ascend in the wanted order.
template <typename T>
void load_row(const T* row, bool descending,
              std::vector<Item<KeyOf<T>>>& items) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    items[i] = {key_in_order(row[i], descending), static_cast<std::int64_t>(i)};
  }
}

// Sorts by key, stably, in passes over one byte each (radix sort, Knuth vol. 3,
// section 5.2.5). Skips bytes that all keys share. `spare` has the same size.
template <typename Key>
void radix_sort(std::vector<Item<Key>>& items, std::vector<Item<Key>>& spare) {
  for (std::size_t shift = 0; shift < 8 * sizeof(Key); shift += 8) {
    std::array<std::size_t, 256> starts{};
    for (const auto& item : items) ++starts[(item.key >> shift) & 255];
    if (starts[(items[0].key >> shift) & 255] == items.size()) continue;
    std::size_t total = 0;
    for (std::size_t& start : starts) {
      const std::size_t count = start;
      start = total;
      total += count;
    }
    for (const auto& item : items) {
      spare[starts[(item.key >> shift) & 255]++] = item;
    }
    items.swap(spare);
  }
}

// Sorts items whose indices ascend.
template <typename Key>
void sort_items(std::vector<Item<Key>>& items, std::vector<Item<Key>>& spare) {
  constexpr std::size_t kFewItems = 64 * sizeof(Key);
  if (items.size() < kFewItems) {
    std::sort(items.begin(), items.end());
  } else {
    spare.resize(items.size());
    radix_sort(items, spare);
  }
}

}  // namespace hvd::autograd
