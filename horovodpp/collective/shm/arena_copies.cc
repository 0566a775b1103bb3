// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/shm/arena_copies.h"

#include <cstring>

#include "horovodpp/core/status.h"

namespace hvd::collective {

std::array<Piece, 2> ArenaCopies::listed(std::span<const std::byte> input,
                                         std::byte* output,
                                         std::size_t output_bytes) {
  auto* const sent = const_cast<std::byte*>(input.data());
  return {Piece{sent, sent, static_cast<std::int64_t>(input.size())},
          Piece{output, output, static_cast<std::int64_t>(output_bytes)}};
}

absl::Status ArenaCopies::run() {
  for (const Block& block : blocks_) {
    std::memcpy(block.to, block.from, block.bytes);
  }
  seat_.board.finish(0);
  return seat_.board.wait_for_results(0, seat_.interrupt);
}

absl::Status ArenaCopies::run_into_others() {
  HVD_RETURN_IF_ERROR(seat_.board.check_nobody_withdrew());
  const absl::Status status = run();
  if (!status.ok()) seat_.board.withdraw(0);
  return status;
}

}  // namespace hvd::collective
