// SPDX-License-Identifier: Apache-2.0
// A ShmQuickCall is an allreduce of at most a slot, or a barrier, of a ShmPlane
// in one step. Its results are the same as of allreduce_at_once() and the
// plane's barriers.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "horovodpp/collective/board/board.h"
#include "horovodpp/collective/quick_call.h"
#include "horovodpp/collective/reduce/kernel.h"

namespace hvd::collective {

class ShmQuickCall : public QuickCall {
 public:
  // An allreduce of `bytes`, or, without a kernel, a barrier. The board and
  // `members` outlive this object.
  ShmQuickCall(ShmBoard& board, std::span<const int> members,
               const std::optional<ReduceKernel>& kernel, std::size_t bytes);

  bool run(std::span<const Piece> pieces,
           const transport::DataTag& tag) override;

 private:
  void show(std::span<const Piece> pieces);
  void reduce(std::span<const Piece> pieces);

  ShmBoard& board_;
  const std::span<const int> members_;
  const std::optional<ReduceKernel> kernel_;
  const std::size_t element_bytes_;
  ShmBoard::Label label_;
  std::vector<const void*> inputs_;  // One for each member.
};

}  // namespace hvd::collective
