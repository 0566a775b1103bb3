// SPDX-License-Identifier: Apache-2.0
// A MemoryBudget checkpoints only as much as memory demands, for any program.
// While it lives, checkpointed functions called on this thread keep the tensors
// they computed. When tensors created since then would exceed the budget, the
// function with the least recomputation cost per byte drops its tensors.
// Backward then runs that function again.
//
//   hvd::MemoryBudget budget(2 << 30);
//   for (auto& block : blocks) {
//     x = hvd::checkpoint([&](const hvd::Tensor& in) { return (*block)(in); }, x);
//   }
//   loss(x).backward();
//
// Regions recompute only if memory is short. No profile and no chain are needed:
// branches, loops and shapes may depend on data. Only tensors of checkpointed
// functions can be dropped, so the budget cannot bound other memory. Functions
// of about equal cost are dropped in the order in which they ran, since
// backward needs the last ones first.
#pragma once

#include <cstdint>
#include <memory>

#include "horovodpp/core/export.h"
#include "horovodpp/kernel/allocator.h"

namespace HVD_EXPORT hvd {

namespace autograd {
class BudgetLedger;
}

// Statistics of the checkpointed functions under a budget.
struct MemoryBudgetStats {
  std::int64_t regions = 0;        // Calls of checkpointed functions so far.
  std::int64_t dropped = 0;        // Calls whose tensors were dropped.
  std::int64_t dropped_bytes = 0;  // Bytes that they held.
};

class MemoryBudget {
 public:
  // Limits the memory of `allocator` beyond its current use.
  //   InvalidArgument  bytes is negative
  explicit MemoryBudget(std::int64_t bytes, autograd::Allocator& allocator =
                                                autograd::cpu_allocator());
  ~MemoryBudget();
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  MemoryBudgetStats stats() const;

 private:
  std::shared_ptr<autograd::BudgetLedger> ledger_;
  autograd::BudgetLedger* outer_;
};

}  // namespace hvd
