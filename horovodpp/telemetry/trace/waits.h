// SPDX-License-Identifier: Apache-2.0
// Waits tells from a rank's events whether a thread of the program is blocked:
// from kAwaited until the batch with the operation is done, on a GPU with its
// work. Not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "horovodpp/core/trace/event.h"

namespace hvd::telemetry {

class Waits {
 public:
  void add(const trace::Event& event);
  // Events are missing before the next one.
  void forget();

  // Whether a thread waits after the events so far. An operation that is done
  // at once (kDoneAtOnce) has blocked its thread already.
  bool is_any() const { return awaited_ > 0; }

 private:
  struct Operation {
    int in_flight = 0;  // Unnamed calls share a name.
    int awaited = 0;
  };

  void await(std::uint32_t name);
  void end_batch(const trace::Event& event);
  void complete(const std::vector<std::uint32_t>& names);
  void complete(std::uint32_t name);

  absl::flat_hash_map<std::uint32_t, Operation> operations_;
  int awaited_ = 0;                   // Over all operations.
  std::vector<std::uint32_t> batch_;  // The names of the last batch.
  // Batches whose work goes on on a GPU, by number.
  absl::flat_hash_map<std::uint64_t, std::vector<std::uint32_t>> on_gpu_;
};

}  // namespace hvd::telemetry
