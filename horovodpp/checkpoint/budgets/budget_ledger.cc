// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/checkpoint/budgets/budget_ledger.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/accumulate_grad.h"
#include "horovodpp/autograd/graph/error.h"
#include "horovodpp/autograd/graph/graph_state.h"
#include "horovodpp/checkpoint/budgets/memory_budget.h"

namespace hvd::autograd {
namespace {

// Costs within this factor count as equal, since each is measured only once.
constexpr double kAboutTheSame = 1.25;

}  // namespace

BudgetLedger::BudgetLedger(std::int64_t bytes, Allocator& allocator)
    : bytes_(bytes),
      allocator_(allocator),
      before_(allocator.stats().current_bytes),
      gradients_before_(leaf_gradient_bytes()) {}

std::shared_ptr<BudgetLedger> BudgetLedger::make(std::int64_t bytes,
                                                 Allocator& allocator) {
  const std::shared_ptr<BudgetLedger> ledger(
      new BudgetLedger(bytes, allocator));
  add_reclaimer(allocator, ledger->before_ + bytes, ledger);
  return ledger;
}

void BudgetLedger::add(BudgetHolder* holder) {
  MutexLock lock(mutex_);
  holders_.push_back(holder);
  ++stats_.regions;
}

void BudgetLedger::remove(BudgetHolder* holder) {
  MutexLock lock(mutex_);
  std::erase(holders_, holder);
}

bool BudgetLedger::is_exceeded_by(std::int64_t bytes) const {
  const std::int64_t gradients = leaf_gradient_bytes() - gradients_before_;
  const std::int64_t held =
      allocator_.stats().current_bytes - before_ - gradients;
  return held + bytes > bytes_;
}

BudgetHolder* BudgetLedger::next_to_drop() const {
  struct Candidate {
    BudgetHolder* holder;
    double cost;  // Seconds per byte.
  };
  std::vector<Candidate> candidates;
  double least = std::numeric_limits<double>::infinity();
  BudgetHolder* in_use = nullptr;
  for (BudgetHolder* holder : holders_) {
    const std::int64_t bytes = holder->held_bytes();
    if (bytes == 0) continue;
    if (holder->is_in_use()) {
      in_use = holder;
      continue;
    }
    const double cost = holder->replay_seconds() / static_cast<double>(bytes);
    candidates.push_back({holder, cost});
    least = std::min(least, cost);
  }
  for (const Candidate& candidate : candidates) {
    if (candidate.cost <= least * kAboutTheSame) return candidate.holder;
  }
  return in_use;
}

void BudgetLedger::make_room(std::int64_t bytes) {
  while (is_exceeded_by(bytes)) {
    const std::uint64_t now = changes_.load(std::memory_order_relaxed);
    if (empty_at_.load(std::memory_order_relaxed) == now) return;
    std::vector<Tensor> dropped;  // Freed after the lock: a hook may run.
    MutexLock lock(mutex_);
    BudgetHolder* holder = next_to_drop();
    if (holder == nullptr) {
      empty_at_.store(now, std::memory_order_relaxed);
      return;
    }
    ++stats_.dropped;
    stats_.dropped_bytes += holder->held_bytes();
    dropped = holder->drop();
  }
}

BudgetHolder* BudgetLedger::find(std::uint64_t mark) const {
  const auto found = std::find_if(
      holders_.begin(), holders_.end(),
      [mark](BudgetHolder* holder) { return holder->budget_mark() == mark; });
  return found == holders_.end() ? nullptr : *found;
}

void BudgetLedger::refill(std::uint64_t mark, std::uint32_t place,
                          const Tensor& tensor) {
  has_more();
  MutexLock lock(mutex_);
  BudgetHolder* holder = find(mark);
  if (holder != nullptr) holder->refill(place, tensor);
}

std::vector<std::uint64_t> BudgetLedger::children_of(std::uint64_t mark) const {
  MutexLock lock(mutex_);
  const BudgetHolder* holder = find(mark);
  return holder == nullptr ? std::vector<std::uint64_t>() : holder->children();
}

// Ignores other threads outside a backward: they may hold any lock.
void BudgetLedger::reclaim(std::size_t bytes) {
  if (graph_state.budget_ledger != this && graph_state.graph_task == nullptr) {
    return;
  }
  make_room(static_cast<std::int64_t>(bytes));
}

MemoryBudgetStats BudgetLedger::stats() const {
  MutexLock lock(mutex_);
  return stats_;
}

}  // namespace hvd::autograd

namespace hvd {

MemoryBudget::MemoryBudget(std::int64_t bytes, autograd::Allocator& allocator) {
  if (bytes < 0) {
    throw InvalidArgument(absl::StrCat("a memory budget of ", bytes,
                                       " bytes; wanted is 0 or "
                                       "more"));
  }
  ledger_ = autograd::BudgetLedger::make(bytes, allocator);
  outer_ = std::exchange(autograd::graph_state.budget_ledger, ledger_.get());
}

MemoryBudget::~MemoryBudget() { autograd::graph_state.budget_ledger = outer_; }

MemoryBudgetStats MemoryBudget::stats() const { return ledger_->stats(); }

}  // namespace hvd
