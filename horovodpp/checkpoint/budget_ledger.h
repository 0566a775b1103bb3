// What a MemoryBudget and the regions under it share: who holds memory, and who
// lets go of it first. It lives as long as the last of them. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "horovodpp/checkpoint/budget_stats.h"
#include "horovodpp/core/mutex.h"
#include "horovodpp/kernel/allocator.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

class BudgetLedger {
 public:
  // A checkpointed region that keeps what it computed, and can let go of it.
  class Holder {
   public:
    // What would be free then: memory that is nobody else's.
    virtual std::int64_t held_bytes() const = 0;
    // What it would cost: how long forward took. Not known while it runs.
    virtual bool is_running() const = 0;
    virtual double forward_seconds() const = 0;
    // Lets go of it all.
    virtual std::vector<Tensor> drop() = 0;

   protected:
    ~Holder() = default;
  };

  BudgetLedger(std::int64_t bytes, Allocator& allocator);

  // The one in force on this thread; null if there is none.
  static const std::shared_ptr<BudgetLedger>& current();
  // Puts another in force; returns the one before.
  static std::shared_ptr<BudgetLedger> exchange(
      std::shared_ptr<BudgetLedger> ledger);

  // Until it says that it is gone.
  void add(Holder* holder);
  void remove(Holder* holder);

  // Lets holders let go of what they hold until the budget is kept to, or none holds
  // anything.
  void make_room();

  MemoryBudgetStats stats() const;

 private:
  bool is_exceeded() const;
  // The one that goes next; null if none holds anything.
  Holder* next_to_drop() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::int64_t bytes_;
  Allocator& allocator_;
  const std::int64_t before_;  // In use when the budget began.
  mutable Mutex mutex_;
  std::vector<Holder*> holders_ ABSL_GUARDED_BY(mutex_);  // As they were made.
  MemoryBudgetStats stats_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hvd::autograd
