// SPDX-License-Identifier: Apache-2.0
// AwaitedKeys is the set of names that callers on this rank block on. It drops
// names that are no longer in flight now and then, so it stays small.
//
// Pure: no thread, no clock, no I/O.
#pragma once

#include <algorithm>
#include <cstddef>

#include "absl/container/flat_hash_set.h"
#include "horovodpp/coordinator/protocol/request.h"

namespace hvd::coordinator {

class AwaitedKeys {
 public:
  // `is_in_flight(key)` says which of the other keys are still in flight.
  template <typename InFlight>
  void add(const Key& key, InFlight is_in_flight) {
    if (keys_.size() >= limit_) {
      drop_others(is_in_flight);
      limit_ = std::max(kMinKept, 2 * keys_.size());
    }
    keys_.insert(key);
  }

  // The operation of this name has completed.
  void erase(const Key& key) {
    if (!keys_.empty()) keys_.erase(key);
  }

  // Whether any key is still in flight.
  template <typename InFlight>
  bool any(InFlight is_in_flight) {
    drop_others(is_in_flight);
    return !keys_.empty();
  }

  std::size_t size() const { return keys_.size(); }

 private:
  static constexpr std::size_t kMinKept = 32;

  template <typename InFlight>
  void drop_others(InFlight is_in_flight) {
    absl::erase_if(keys_, [&](const Key& key) { return !is_in_flight(key); });
  }

  absl::flat_hash_set<Key> keys_;
  std::size_t limit_ = kMinKept;
};

}  // namespace hvd::coordinator
