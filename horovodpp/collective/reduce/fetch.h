// SPDX-License-Identifier: Apache-2.0
// Lines that another core has written are fetched, and then written to. A load leaves
// them with both cores, and the store has to ask the other one to give them up: it takes
// as long again. Where it is known that a store follows, one request does both.
//
//   fetch_to_write(slot + kPortion, kPortion);  // while this portion is used
//   reduce(slot, ...);
#pragma once

#include <cstddef>

namespace hvd::collective {

// Starts to bring `bytes` near, for this core alone.
void fetch_to_write(const std::byte* memory, std::size_t bytes);

}  // namespace hvd::collective
