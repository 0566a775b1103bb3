// SPDX-License-Identifier: Apache-2.0
// The AwaitedKeys are the names that somebody on this rank blocks for, as far as
// they are in flight: which ones are is asked now and then, so that the set stays
// small.
//
// Pure: no thread, no clock, no I/O.
#pragma once

#include <algorithm>
#include <cstddef>

#include "absl/container/flat_hash_set.h"
#include "horovodpp/coordinator/request.h"

namespace hvd::coordinator {

class AwaitedKeys {
 public:
  // `is_in_flight(key)` tells which of the others are.
  template <typename InFlight>
  void add(const Key& key, InFlight is_in_flight) {
    if (keys_.size() >= limit_) {
      drop_others(is_in_flight);
      limit_ = std::max(kLeastKept, 2 * keys_.size());
    }
    keys_.insert(key);
  }

  // Whoever waited under this name has what it waited for.
  void erase(const Key& key) {
    if (!keys_.empty()) keys_.erase(key);
  }

  // Whether there is one in flight.
  template <typename InFlight>
  bool any(InFlight is_in_flight) {
    drop_others(is_in_flight);
    return !keys_.empty();
  }

  std::size_t size() const { return keys_.size(); }

 private:
  static constexpr std::size_t kLeastKept = 32;

  template <typename InFlight>
  void drop_others(InFlight is_in_flight) {
    absl::erase_if(keys_, [&](const Key& key) { return !is_in_flight(key); });
  }

  absl::flat_hash_set<Key> keys_;
  std::size_t limit_ = kLeastKept;
};

}  // namespace hvd::coordinator
