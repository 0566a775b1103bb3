// SPDX-License-Identifier: Apache-2.0
// Operations follows a rank's operations through its events: submitted, then in
// a batch, then done. Of a name that is in flight more than once, the oldest
// submission is the next to run and to end. An operation without a submission
// is another rank's, or its submission was missed.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "horovodpp/core/trace/event.h"
#include "horovodpp/core/trace/event_ring.h"

namespace hvd::telemetry {

struct Operation {
  std::uint64_t id = 0;  // Of no other operation.
  std::uint32_t name = 0;
  std::optional<std::uint64_t> submitted = {};  // Ticks.
  std::optional<std::uint64_t> batch = {};      // The number of its batch.
  std::uint8_t dtype = 0;                       // As in kBatchEntry.
  std::uint64_t bytes = 0;
  // Of one that has ended: since when a thread was blocked for it.
  std::optional<std::uint64_t> awaited = {};
};

struct Batch {
  std::uint64_t number = 0;
  std::uint64_t began = 0;  // Ticks.
  std::vector<Operation> operations = {};
  std::uint16_t plane = trace::kNoName;  // Of the call with most bytes.
  std::uint64_t plane_bytes = 0;
};

class Operations {
 public:
  void add(const trace::Event& event);
  // Events are missing before the next one, or a job ends: ends all operations.
  void forget();

  // The operation that the last event has submitted or put into a batch;
  // nullptr: none.
  const Operation* current() const { return current_; }
  // The batch that the last event has ended, also an abandoned one; or its
  // operations, if it ended some without a batch.
  const Batch& ended() const { return ended_; }
  // The batch that the job's thread carries out; nullptr: none.
  const Batch* open() const { return open_ ? &*open_ : nullptr; }

  // This rank's, in batches too.
  std::size_t in_flight() const { return in_flight_; }
  // Whether a thread of the program is blocked. An operation that is done at
  // once (kDoneAtOnce) has blocked its thread already.
  bool are_awaited() const { return awaited_ > 0; }
  // Whether a batch is carried out, or its work goes on on a GPU.
  bool are_executed() const { return open_ || !on_gpu_.empty(); }

 private:
  struct Named {
    std::vector<Operation> ready = {};  // The oldest first.
    std::size_t in_flight = 0;
    std::vector<std::uint64_t> awaited = {};  // Ticks, the oldest first.
  };

  void submit(const trace::Event& event);
  void enter(const trace::Event& event);
  void call(const trace::Event& event);
  void end_batch(const trace::Event& event);
  void end_ready(const trace::Event& event);
  void put_back(const std::vector<Operation>& abandoned);
  void end(Batch batch);
  void leave(Operation& operation);

  std::uint64_t next_id_ = 0;
  std::size_t in_flight_ = 0;
  std::size_t awaited_ = 0;
  absl::flat_hash_map<std::uint32_t, Named> names_;
  std::optional<Batch> open_;
  // Batches whose work goes on on a GPU, by number.
  absl::flat_hash_map<std::uint64_t, Batch> on_gpu_;
  const Operation* current_ = nullptr;
  Batch ended_;
};

}  // namespace hvd::telemetry
