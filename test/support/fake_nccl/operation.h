// SPDX-License-Identifier: Apache-2.0
// What is put into a stream: one operation of NCCL, and how the ranks carry a group of
// them out together, step by step, on the threads of their streams.
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
  const std::byte* from = nullptr;  // Where the stand-in may touch them.
  std::byte* to = nullptr;
  std::size_t count = 0;  // Of each rank's part, where these differ.
  NcclDType type = 0;
  NcclOp op = 0;
  double factor = 1;  // What contributions are multiplied by.
  int peer = 0;       // The root, or the other side.
  // Where in windows it reads and writes, in a number; 0: in none.
  std::uint64_t place = 0;
};

std::size_t size_of(NcclDType type);

// One rank's side of the exchange.
class Exchange {
 public:
  Exchange(Mapping& memory, int rank, int ranks,
           const std::atomic<bool>& aborted)
      : memory_(memory), rank_(rank), ranks_(ranks), aborted_(aborted) {}

  // All of a group, sends and receives side by side. False if it was aborted, or if two
  // ranks are at different things.
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
