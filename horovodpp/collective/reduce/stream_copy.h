// SPDX-License-Identifier: Apache-2.0
// Copies around the caches, for memory that is not in the cache, or that is
// fetched faster from memory than from another core's cache. See slot_writer.h.
//
//   stream_copy(slot, gradient, bytes);
//   ...
//   finish_streams();                         // before announcing the slot
#pragma once

#include <cstddef>

namespace hvd::collective {

// Copies `bytes` between places that do not overlap. Other threads see them in
// any order, until finish_streams().
void stream_copy(std::byte* to, const std::byte* from, std::size_t bytes);

// Makes everything that this thread has stream_copied visible before its later
// stores.
void finish_streams();

}  // namespace hvd::collective
