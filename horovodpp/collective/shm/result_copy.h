// SPDX-License-Identifier: Apache-2.0
// A ResultCopy copies parts of a result from slots, or from the input, to the
// output. If all ranks' results together exceed the caches, it writes around
// them: no line of the result is read before it is written:
//
//   ResultCopy copy(seat, bytes_of_all);
//   copy(output, slot, bytes);
//   copy.finish();                             // before the call ends
//
// Belongs to one call. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstring>

#include "horovodpp/collective/board/seat.h"
#include "horovodpp/collective/reduce/stream_copy.h"

namespace hvd::collective {

class ResultCopy {
 public:
  // `bytes_of_all`: the bytes that all members write together, as far as this
  // one knows.
  ResultCopy(const BoardSeat& seat, std::size_t bytes_of_all)
      : streams_(bytes_of_all > seat.board.options().cached_bytes) {}

  // The two ranges must be equal or disjoint.
  void operator()(std::byte* to, const std::byte* from, std::size_t bytes) {
    if (bytes == 0 || to == from) return;
    if (streams_) {
      stream_copy(to, from, bytes);
    } else {
      std::memcpy(to, from, bytes);
    }
  }

  // Makes the copies visible before this thread's next stores.
  void finish() {
    if (streams_) finish_streams();
  }

 private:
  const bool streams_;
};

}  // namespace hvd::collective
