#include "horovodpp/collective/reduce/piece.h"

namespace hvd::collective {

std::int64_t total_count(std::span<const Piece> pieces) {
  std::int64_t count = 0;
  for (const Piece& piece : pieces) count += piece.count;
  return count;
}

}  // namespace hvd::collective
