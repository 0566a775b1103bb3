// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/protocol/cycle.h"

namespace hvd::coordinator {

void Cycle::add(std::uint32_t id, bool ends_batch) {
  if (!batch_is_open_) batches_.emplace_back();
  batch_is_open_ = !ends_batch;
  Part& part = batches_.back();
  part.ids.push_back(id);
  ++part.missing;
  batch_of_[id] = static_cast<std::uint32_t>(batches_.size() - 1);
  constexpr std::uint64_t kPrime = 0x100000001b3u;
  hash_ = (hash_ ^ id) * kPrime;
  hash_ = (hash_ ^ (ends_batch ? 1u : 0u)) * kPrime;
}

void Cycle::restart() {
  for (Part& part : batches_) part.missing = part.ids.size();
  position_ = 0;
  entered_ = 0;
}

}  // namespace hvd::coordinator
