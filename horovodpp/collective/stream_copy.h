// Copies around the caches.
//
// A store to memory that another core has just read costs 30 to 100 ns per
// cache line, because that core's copy is to be called back first; a store that
// goes around the caches costs a tenth of it. So this is how a rank fills memory
// that others have read and will read: its slots.
//
//   stream_copy(slot, gradient, bytes);
//   ...
//   finish_streams();                         // before others are told of it
#pragma once

#include <cstddef>

namespace hvd::collective {

// Copies `bytes` between places that do not overlap. Others see them in any
// order, until finish_streams().
void stream_copy(std::byte* to, const std::byte* from, std::size_t bytes);

// What this thread has stream_copied is seen before what it stores from now on.
void finish_streams();

}  // namespace hvd::collective
