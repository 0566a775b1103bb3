// SPDX-License-Identifier: Apache-2.0
// The state that a MemoryBudget and its regions share: the holders of memory,
// and the order in which they drop it. It lives as long as the last of them.
// Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "horovodpp/checkpoint/budgets/budget_holder.h"
#include "horovodpp/checkpoint/budgets/memory_budget.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/kernel/allocator.h"
#include "horovodpp/kernel/memory_reclaimer.h"

namespace hvd::autograd {

class BudgetLedger final : public MemoryReclaimer,
                           public std::enable_shared_from_this<BudgetLedger> {
 public:
  // Makes room for allocations of `allocator` as well while the ledger lives.
  static std::shared_ptr<BudgetLedger> make(std::int64_t bytes,
                                            Allocator& allocator);

  // Registers `holder` until remove().
  void add(BudgetHolder* holder);
  void remove(BudgetHolder* holder);

  // A holder may now hold more memory.
  void has_more() { changes_.fetch_add(1, std::memory_order_relaxed); }
  // Makes holders drop memory until `bytes` more fit, or no holder has any.
  void make_room(std::int64_t bytes);

  // Calls BudgetHolder::refill() or children() of the holder with this mark, if
  // it exists.
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
  // The next holder to drop, or null.
  BudgetHolder* next_to_drop() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::int64_t bytes_;
  Allocator& allocator_;
  const std::int64_t before_;  // Bytes in use when the budget began.
  const std::int64_t gradients_before_;
  std::atomic<std::uint64_t> changes_{1};
  // The value of changes_ when no holder had memory: skips another search.
  std::atomic<std::uint64_t> empty_at_{0};
  mutable Mutex mutex_;
  std::vector<BudgetHolder*> holders_
      ABSL_GUARDED_BY(mutex_);  // In order of creation.
  MemoryBudgetStats stats_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hvd::autograd
