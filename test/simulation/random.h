// SPDX-License-Identifier: Apache-2.0
// Random choices, requests, and variations of a request.
#pragma once

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/coordinator/protocol/request.h"

namespace hvd::simulation {

// A Random is a seed's stream of choices. Unlike the standard distributions, a
// seed makes equal choices on every machine, so a failure can be repeated.
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

// A regular request for a collective operation on the ranks `members`.
coordinator::Request random_request(Random& random, const std::string& name,
                                    const std::vector<int>& members);

// The same operation on a tensor of another shape. A request without tensors
// differs in another field.
coordinator::Request with_other_shape(Random& random,
                                      coordinator::Request request);

// A request that does not match `request`.
coordinator::Request with_difference(Random& random,
                                     coordinator::Request request);

// Whether first dimensions may differ from rank to rank and call to call.
bool has_free_rows(const coordinator::Request& request);

// The same request with other numbers of rows.
coordinator::Request with_other_rows(Random& random,
                                     coordinator::Request request);

}  // namespace hvd::simulation
