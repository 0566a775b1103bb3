// SPDX-License-Identifier: Apache-2.0
// What a MemoryBudget and the regions under it share: who holds memory, and who
// lets go of it first. It lives as long as the last of them. Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "horovodpp/checkpoint/budget_holder.h"
#include "horovodpp/checkpoint/budget_stats.h"
#include "horovodpp/core/mutex.h"
#include "horovodpp/kernel/allocator.h"
#include "horovodpp/kernel/memory_reclaimer.h"

namespace hvd::autograd {

class BudgetLedger final : public MemoryReclaimer {
 public:
  // Room is also made for what is allocated while it lives.
  static std::shared_ptr<BudgetLedger> make(std::int64_t bytes,
                                            Allocator& allocator);

  // The one in force on this thread; null if there is none.
  static const std::shared_ptr<BudgetLedger>& current();
  // Puts another in force; returns the one before.
  static std::shared_ptr<BudgetLedger> exchange(
      std::shared_ptr<BudgetLedger> ledger);

  // Until it says that it is gone.
  void add(BudgetHolder* holder);
  void remove(BudgetHolder* holder);

  // A holder may have more to let go of than before.
  void has_more() { changes_.fetch_add(1, std::memory_order_relaxed); }
  // Lets holders let go of what they hold until there is room for so many bytes
  // more, or none holds anything.
  void make_room(std::int64_t bytes);

  // BudgetHolder::refill() and children() of the holder with this mark, if there is
  // one.
  void refill(std::uint64_t mark, std::uint32_t place, const Tensor& tensor);
  std::vector<std::uint64_t> children_of(std::uint64_t mark) const;

  // --- MemoryReclaimer ---
  void reclaim(std::size_t bytes) override;

  MemoryBudgetStats stats() const;

 private:
  BudgetLedger(std::int64_t bytes, Allocator& allocator);
  bool is_exceeded_by(std::int64_t bytes) const;
  BudgetHolder* find(std::uint64_t mark) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The one that goes next; null if none holds anything.
  BudgetHolder* next_to_drop() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::int64_t bytes_;
  Allocator& allocator_;
  const std::int64_t before_;  // In use when the budget began.
  const std::int64_t gradients_before_;
  std::atomic<std::uint64_t> changes_{1};
  // When none was found to hold anything: asking again takes time.
  std::atomic<std::uint64_t> empty_at_{0};
  mutable Mutex mutex_;
  std::vector<BudgetHolder*> holders_
      ABSL_GUARDED_BY(mutex_);  // As they were made.
  MemoryBudgetStats stats_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hvd::autograd
