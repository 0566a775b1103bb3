// SPDX-License-Identifier: Apache-2.0
// The CurrentBatch of a rank is the one it executes, or is about to; batches get
// their numbers here.
//
// Pure: no thread, no clock, no I/O.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "horovodpp/coordinator/batch.h"

namespace hvd::coordinator {

class CurrentBatch {
 public:
  // A new one, empty, with the next number.
  Batch number(bool is_certain) {
    ids_.clear();
    return {.epoch = epoch_, .sequence = sequence_++, .certain = is_certain};
  }
  // Numbers begin anew, in a higher epoch.
  void begin_epoch() {
    ++epoch_;
    sequence_ = 0;
  }

  // An operation of the one that was numbered last.
  void add(std::uint32_t id) { ids_.push_back(id); }

  // It is to be executed next.
  void make_ready(Batch batch) {
    own_ = std::move(batch);
    ready_ = &own_;
  }
  // `planned` is, with the next number. It stays as it is until end().
  void make_planned_ready(Batch& planned) {
    planned.epoch = epoch_;
    planned.sequence = sequence_++;
    ready_ = &planned;
  }
  bool is_ready() const { return ready_ != nullptr; }
  // Gives it out, if there is one (else nullptr): it is being executed until
  // end(), and lasts as long.
  const Batch* give_out() {
    is_executing_ = is_ready();
    return std::exchange(ready_, nullptr);
  }
  bool is_executing() const { return is_executing_; }
  // Its operations, by id.
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
