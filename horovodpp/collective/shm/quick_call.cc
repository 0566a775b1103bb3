// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/shm/quick_call.h"

#include <cstring>

namespace hvd::collective {

ShmQuickCall::ShmQuickCall(ShmBoard& board, std::span<const int> members,
                           const std::optional<ReduceKernel>& kernel,
                           std::size_t bytes)
    : board_(board),
      members_(members),
      kernel_(kernel),
      element_bytes_(kernel ? kernel->element_bytes() : 0),
      label_{.tag = {}, .kind = kernel ? 'r' : 'y', .bytes = bytes},
      inputs_(members.size()) {}

bool ShmQuickCall::run(std::span<const Piece> pieces,
                       const transport::DataTag& tag) {
  label_.tag = tag;
  if (!board_.begin(members_, label_).ok()) return false;
  if (!board_.take_resumed()) show(pieces);
  if (!board_.arrive_and_look()) return false;
  reduce(pieces);
  board_.end();
  return true;
}

void ShmQuickCall::show(std::span<const Piece> pieces) {
  std::byte* at = board_.mine();
  for (const Piece& piece : pieces) {
    const std::size_t bytes =
        static_cast<std::size_t>(piece.count) * element_bytes_;
    if (bytes > 0) std::memcpy(at, piece.input, bytes);
    at += bytes;
  }
}

void ShmQuickCall::reduce(std::span<const Piece> pieces) {
  std::size_t byte = 0;
  for (const Piece& piece : pieces) {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      inputs_[i] = board_.slot(members_[i], 0) + byte;
    }
    kernel_->reduce(inputs_, piece.output, piece.count);
    byte += static_cast<std::size_t>(piece.count) * element_bytes_;
  }
}

}  // namespace hvd::collective
