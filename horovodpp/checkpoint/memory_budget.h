// SPDX-License-Identifier: Apache-2.0
// Checkpointing only as much as memory demands, for any program: while a
// MemoryBudget lives, checkpointed functions called on this thread keep what
// they computed. When the tensors made since it began would hold more than its
// bytes, the function whose recomputation costs least for the memory it holds
// lets go of it, and is run again in backward after all.
//
//   hvd::MemoryBudget budget(2 << 30);
//   for (auto& block : blocks) {
//     x = hvd::checkpoint([&](const hvd::Tensor& in) { return (*block)(in); }, x);
//   }
//   loss(x).backward();
//
// Nothing is recomputed where memory suffices. There is no profile and no chain:
// branches, loops and shapes that depend on data are welcome. Only what is within
// checkpointed functions can be let go of, so memory beyond that is no promise.
// Functions that cost about the same go in the order in which they ran, since
// backward needs those that ran last first.
#pragma once

#include <cstdint>
#include <memory>

#include "horovodpp/checkpoint/budget_stats.h"
#include "horovodpp/core/export.h"
#include "horovodpp/kernel/allocator.h"

namespace HVD_EXPORT hvd {

namespace autograd {
class BudgetLedger;
}

class MemoryBudget {
 public:
  // Counts the memory of `allocator`, beyond what is in use now.
  //   InvalidArgument  bytes is negative
  explicit MemoryBudget(std::int64_t bytes, autograd::Allocator& allocator =
                                                autograd::cpu_allocator());
  ~MemoryBudget();
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  MemoryBudgetStats stats() const;

 private:
  std::shared_ptr<autograd::BudgetLedger> ledger_;
  std::shared_ptr<autograd::BudgetLedger> outer_;
};

}  // namespace hvd
