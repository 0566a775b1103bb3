// SPDX-License-Identifier: Apache-2.0
// One NCCL operation in a stream, and the step-by-step execution of a group by
// all ranks on the threads of their streams.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "horovodpp/collective/nccl/api.h"
#include "test/support/fake_nccl/shared.h"

namespace fake_nccl {

using hvd::collective::NcclDType;
using hvd::collective::NcclOp;
using hvd::collective::NcclResult;

enum class Kind {
  kAllReduce,
  kReduce,
  kReduceScatter,
  kBroadcast,
  kAllGather,
  kSend,
  kRecv
};

struct Operation {
  Kind kind = Kind::kAllReduce;
  const std::byte* from = nullptr;  // Where the fake may touch them.
  std::byte* to = nullptr;
  std::size_t count = 0;  // Per rank, if parts differ.
  NcclDType type = 0;
  NcclOp op = 0;
  double factor = 1;  // Scales contributions.
  int peer = 0;       // The root or the partner.
  // The position in windows that the operation reads and writes, as one number;
  // 0: outside of windows.
  std::uint64_t place = 0;
};

std::size_t size_of(NcclDType type);

// One rank's side of the exchange.
class Exchange {
 public:
  Exchange(Mapping& memory, int rank, int ranks,
           const std::atomic<bool>& aborted)
      : memory_(memory), rank_(rank), ranks_(ranks), aborted_(aborted) {}

  // Runs a group; sends and receives run side by side. Returns false if the
  // group was aborted, or if two ranks run different operations.
  bool run(const std::vector<Operation>& group);

 private:
  struct Transfer {
    const Operation* operation;
    std::size_t moved = 0;
  };
  bool collective(const Operation& operation);
  bool step(const Operation& operation, std::size_t first, std::size_t count);
  void show(const Operation& operation, std::size_t first, std::size_t count);
  void take(const Operation& operation, std::size_t first, std::size_t count);
  int last_of(const Operation& operation, std::size_t element) const;
  bool all_have_shown();
  bool transfers(std::vector<Transfer> open);
  bool move_on(Transfer& transfer, bool& moved);

  std::byte* half_of(int rank) const;

  Mapping& memory_;
  const int rank_;
  const int ranks_;
  const std::atomic<bool>& aborted_;
  std::uint64_t steps_ = 0;
};

}  // namespace fake_nccl
