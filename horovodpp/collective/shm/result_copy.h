// SPDX-License-Identifier: Apache-2.0
// A ResultCopy copies parts of a result from slots, or from the input, to where they
// belong: around the caches where all ranks' results together have no room in them.
// Each line of a result is then written without having been read.
//
//   ResultCopy copy(seat, bytes_of_all);
//   copy(output, slot, bytes);
//   copy.finish();                             // before the call ends
//
// Belongs to one call. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstring>

#include "horovodpp/collective/reduce/stream_copy.h"
#include "horovodpp/collective/shm/seat.h"

namespace hvd::collective {

class ResultCopy {
 public:
  // `bytes_of_all`: how much all members write together, as far as this one knows.
  ResultCopy(const BoardSeat& seat, std::size_t bytes_of_all)
      : streams_(bytes_of_all > seat.board.options().cached_bytes) {}

  // Between places that are the same, or do not overlap.
  void operator()(std::byte* to, const std::byte* from, std::size_t bytes) {
    if (bytes == 0 || to == from) return;
    if (streams_) {
      stream_copy(to, from, bytes);
    } else {
      std::memcpy(to, from, bytes);
    }
  }

  // What was copied is seen before what this thread stores from now on.
  void finish() {
    if (streams_) finish_streams();
  }

 private:
  const bool streams_;
};

}  // namespace hvd::collective
