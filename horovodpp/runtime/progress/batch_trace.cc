// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/progress/batch_trace.h"

#include <algorithm>
#include <cstddef>

#include "horovodpp/coordinator/tensor_queue.h"
#include "horovodpp/runtime/execution/plane_calls.h"

namespace hvd::runtime {
namespace {

using coordinator::Batch;
using trace::EventKind;

// The entries of a batch that are recorded if no thread follows the trace. All
// of 100,000 would push every other event out of the ring.
constexpr std::size_t kFirstEntries = 8;

std::uint8_t dtype_of(const coordinator::Request& request) {
  if (request.tensors.empty()) return 0;
  return static_cast<std::uint8_t>(
      static_cast<std::uint8_t>(request.tensors.front().dtype) + 1);
}

}  // namespace

std::uint64_t BatchTrace::begins(const Batch& batch) {
  if (recorder_ == nullptr) return 0;
  const std::uint64_t now = recorder_->now();
  const std::size_t entries = batch.entries.size();
  recorder_->write(EventKind::kBatchBegins,
                   {.detail = first_of_cycle(batch),
                    .name = static_cast<std::uint32_t>(entries),
                    .value = traced_number(batch)},
                   now);
  const std::size_t recorded =
      recorder_->is_followed() ? entries : std::min(entries, kFirstEntries);
  for (std::size_t i = 0; i < recorded; ++i) {
    const Batch::Entry& entry = batch.entries[i];
    const coordinator::Request& agreed = *entry.agreed;
    // A rank that has joined has no submission. It looks the name up.
    const std::uint32_t name =
        entry.submitted_here ? entry.mine->name->traced
                             : coordinator::traced_name(*recorder_, agreed);
    recorder_->write(
        EventKind::kBatchEntry,
        {.detail = dtype_of(agreed), .name = name, .value = agreed.bytes()},
        now);
  }
  return now;
}

std::uint64_t BatchTrace::ends(const Batch& batch, trace::BatchEnd how) {
  if (recorder_ == nullptr) return 0;
  const std::uint64_t now = recorder_->now();
  recorder_->write(
      EventKind::kBatchEnds,
      {.detail = static_cast<std::uint8_t>(how), .value = traced_number(batch)},
      now);
  return now;
}

}  // namespace hvd::runtime
