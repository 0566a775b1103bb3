// SPDX-License-Identifier: Apache-2.0
// CurrentBatch is the batch that a rank executes, or is about to. It also
// numbers batches.
//
// Pure: no thread, no clock, no I/O.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "horovodpp/coordinator/protocol/batch.h"

namespace hvd::coordinator {

class CurrentBatch {
 public:
  // A new, empty batch with the next number.
  Batch number(bool is_certain) {
    ids_.clear();
    return {.epoch = epoch_, .sequence = sequence_++, .certain = is_certain};
  }
  // Starts numbering again, in a higher epoch.
  void begin_epoch() {
    ++epoch_;
    sequence_ = 0;
  }

  // Adds an operation to the batch numbered last.
  void add(std::uint32_t id) { ids_.push_back(id); }

  // `batch` is executed next.
  void make_ready(Batch batch) {
    own_ = std::move(batch);
    ready_ = &own_;
  }
  // `planned` is executed next, under the next number. The caller keeps it
  // unchanged until end().
  void make_planned_ready(Batch& planned) {
    planned.epoch = epoch_;
    planned.sequence = sequence_++;
    ready_ = &planned;
  }
  bool is_ready() const { return ready_ != nullptr; }
  // Hands out the ready batch, or nullptr. The batch is executing, and valid,
  // until end().
  const Batch* give_out() {
    is_executing_ = is_ready();
    return std::exchange(ready_, nullptr);
  }
  bool is_executing() const { return is_executing_; }
  // Ends the batch and returns the ids of its operations.
  std::vector<std::uint32_t> end() {
    is_executing_ = false;
    return std::exchange(ids_, {});
  }

 private:
  std::uint32_t epoch_ = 1;
  std::uint64_t sequence_ = 0;
  Batch own_;
  const Batch* ready_ = nullptr;
  bool is_executing_ = false;
  std::vector<std::uint32_t> ids_;
};

}  // namespace hvd::coordinator
