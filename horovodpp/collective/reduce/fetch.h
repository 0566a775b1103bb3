// SPDX-License-Identifier: Apache-2.0
// Fetches lines that another core has written, and that this core will write. A
// load leaves the lines with both cores, and the later store has to ask the
// other core to release them, which takes as long again. If a store is known to
// follow, one request does both.
//
//   fetch_to_write(slot + kPortion, kPortion);  // while this portion is used
//   reduce(slot, ...);
#pragma once

#include <cstddef>

namespace hvd::collective {

// Begins to bring `bytes` near, for this core alone.
void fetch_to_write(const std::byte* memory, std::size_t bytes);

}  // namespace hvd::collective
