// SPDX-License-Identifier: Apache-2.0
// What a MemoryBudget and the regions under it share: who holds memory, and who
// lets go of it first. It lives as long as the last of them. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "horovodpp/checkpoint/budget_holder.h"
#include "horovodpp/checkpoint/budget_stats.h"
#include "horovodpp/core/mutex.h"
#include "horovodpp/kernel/allocator.h"

namespace hvd::autograd {

class BudgetLedger {
 public:
  BudgetLedger(std::int64_t bytes, Allocator& allocator);

  // The one in force on this thread; null if there is none.
  static const std::shared_ptr<BudgetLedger>& current();
  // Puts another in force; returns the one before.
  static std::shared_ptr<BudgetLedger> exchange(
      std::shared_ptr<BudgetLedger> ledger);

  // Until it says that it is gone.
  void add(BudgetHolder* holder);
  void remove(BudgetHolder* holder);

  // Lets holders let go of what they hold until the budget is kept to, or none holds
  // anything.
  void make_room();

  MemoryBudgetStats stats() const;

 private:
  bool is_exceeded() const;
  // The one that goes next; null if none holds anything.
  BudgetHolder* next_to_drop() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::int64_t bytes_;
  Allocator& allocator_;
  const std::int64_t before_;  // In use when the budget began.
  mutable Mutex mutex_;
  std::vector<BudgetHolder*> holders_
      ABSL_GUARDED_BY(mutex_);  // As they were made.
  MemoryBudgetStats stats_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hvd::autograd
