// SPDX-License-Identifier: Apache-2.0
// The events of batches in a rank's trace. Without a recorder nothing happens.
#pragma once

#include <cstdint>

#include "horovodpp/coordinator/protocol/batch.h"
#include "horovodpp/coordinator/protocol/submission.h"
#include "horovodpp/coordinator/tensor_queue.h"
#include "horovodpp/core/trace/recorder.h"

namespace hvd::runtime {

class BatchTrace {
 public:
  // `recorder` outlives this object.
  explicit BatchTrace(trace::Recorder* recorder) : recorder_(recorder) {}

  // The moment at which an operation begins that may be done at once.
  std::uint64_t now() const {
    return recorder_ == nullptr ? 0 : recorder_->now();
  }
  // Returns the moment of its end, in ticks.
  std::uint64_t done_at_once(const coordinator::Batch& batch,
                             const coordinator::Submission& mine,
                             std::uint16_t plane, std::uint64_t began) {
    if (recorder_ == nullptr) return 0;
    const std::uint64_t now = recorder_->now();
    recorder_->write(trace::EventKind::kDoneAtOnce,
                     {.detail = first_of_cycle(batch),
                      .label = plane,
                      .name = mine.name->traced,
                      .value = trace::pack(now - began, mine.request.bytes())},
                     now);
    return now;
  }

  // Call between the queue's take() and its release(), which frees names. Return
  // the moment, in ticks.
  std::uint64_t begins(const coordinator::Batch& batch);
  std::uint64_t ends(const coordinator::Batch& batch, trace::BatchEnd how);

 private:
  static std::uint8_t first_of_cycle(const coordinator::Batch& batch) {
    return batch.cycle != 0 && batch.place == 0 ? trace::kFirstOfCycle : 0;
  }

  trace::Recorder* const recorder_;
};

}  // namespace hvd::runtime
