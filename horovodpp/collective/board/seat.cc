// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/board/seat.h"

#include <algorithm>

namespace hvd::collective {

Range BoardSeat::slice_of(int position, std::int64_t count,
                          std::size_t element_bytes) const {
  const auto line =
      static_cast<std::int64_t>(ShmBoard::kAlignment / element_bytes);
  const std::int64_t lines = (count + line - 1) / line;
  const std::int64_t begin = std::min(count, lines * position / ranks() * line);
  const std::int64_t end =
      std::min(count, lines * (position + 1) / ranks() * line);
  return {begin, end - begin};
}

}  // namespace hvd::collective
