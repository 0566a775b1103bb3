// SPDX-License-Identifier: Apache-2.0
// A Random is a seed's stream of choices. It is equal on every machine, unlike
// the standard distributions, so that a failing seed can be repeated anywhere.
#pragma once

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace hvd::simulation {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  // splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
  // generators", OOPSLA 2014).
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  // 0 … n - 1.
  int below(int n) {
    return static_cast<int>(next() % static_cast<std::uint64_t>(n));
  }
  int between(int low, int high) { return low + below(high - low + 1); }
  bool percent(int chance) { return below(100) < chance; }

  template <typename T>
  const T& pick(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(below(static_cast<int>(from.size())))];
  }

  template <typename T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) {
      std::swap(items[i - 1],
                items[static_cast<std::size_t>(below(static_cast<int>(i)))]);
    }
  }

  // Exponentially distributed.
  std::chrono::nanoseconds delay(std::chrono::nanoseconds mean) {
    const double uniform =
        static_cast<double>((next() >> 11) + 1) * 0x1.0p-53;  // (0, 1]
    return std::chrono::nanoseconds(static_cast<std::int64_t>(
        -std::log(uniform) * static_cast<double>(mean.count())));
  }

 private:
  std::uint64_t state_;
};

}  // namespace hvd::simulation
