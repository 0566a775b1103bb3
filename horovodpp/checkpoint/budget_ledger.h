// What a MemoryBudget and the regions under it share: who holds memory, and who
// lets go of it first. It lives as long as the last of them. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "horovodpp/checkpoint/memory_budget.h"
#include "horovodpp/core/mutex.h"
#include "horovodpp/kernel/allocator.h"

namespace hvd::autograd {

class Region;

class BudgetLedger {
 public:
  BudgetLedger(std::int64_t bytes, Allocator& allocator);

  // That of the innermost MemoryBudget on this thread; null if there is none.
  static const std::shared_ptr<BudgetLedger>& current();

  // A region that keeps; until it says that it is gone.
  void add(Region* region);
  void remove(Region* region);

  // Lets regions go of what they hold until the budget is kept to, or none holds
  // anything.
  void make_room();

  MemoryBudget::Stats stats() const;

 private:
  bool is_exceeded() const;
  // The region that goes next; null if none holds anything.
  Region* next_to_drop() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::int64_t bytes_;
  Allocator& allocator_;
  const std::int64_t before_;  // In use when the budget began.
  mutable Mutex mutex_;
  std::vector<Region*> regions_ ABSL_GUARDED_BY(mutex_);  // As they were made.
  MemoryBudget::Stats stats_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hvd::autograd
