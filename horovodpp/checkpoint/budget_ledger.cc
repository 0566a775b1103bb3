// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/checkpoint/budget_ledger.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace hvd::autograd {
namespace {

thread_local std::shared_ptr<BudgetLedger> ledger_in_force;

// Costs within this factor count as equal: they are measured once.
constexpr double kAboutTheSame = 1.25;

}  // namespace

BudgetLedger::BudgetLedger(std::int64_t bytes, Allocator& allocator)
    : bytes_(bytes),
      allocator_(allocator),
      before_(allocator.stats().current_bytes) {}

const std::shared_ptr<BudgetLedger>& BudgetLedger::current() {
  return ledger_in_force;
}

std::shared_ptr<BudgetLedger> BudgetLedger::exchange(
    std::shared_ptr<BudgetLedger> ledger) {
  return std::exchange(ledger_in_force, std::move(ledger));
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

bool BudgetLedger::is_exceeded() const {
  return allocator_.stats().current_bytes - before_ > bytes_;
}

BudgetHolder* BudgetLedger::next_to_drop() const {
  struct Candidate {
    BudgetHolder* holder;
    double cost;  // Seconds for a byte.
  };
  std::vector<Candidate> candidates;
  double least = std::numeric_limits<double>::infinity();
  BudgetHolder* running = nullptr;
  for (BudgetHolder* holder : holders_) {
    const std::int64_t bytes = holder->held_bytes();
    if (bytes == 0) continue;
    if (holder->is_running()) {
      running = holder;
      continue;
    }
    const double cost = holder->replay_seconds() / static_cast<double>(bytes);
    candidates.push_back({holder, cost});
    least = std::min(least, cost);
  }
  for (const Candidate& candidate : candidates) {
    if (candidate.cost <= least * kAboutTheSame) return candidate.holder;
  }
  return running;
}

void BudgetLedger::make_room() {
  while (is_exceeded()) {
    std::vector<Tensor> dropped;  // Freed after the lock: a hook may be told.
    MutexLock lock(mutex_);
    BudgetHolder* holder = next_to_drop();
    if (holder == nullptr) return;
    ++stats_.dropped;
    stats_.dropped_bytes += holder->held_bytes();
    dropped = holder->drop();
  }
}

MemoryBudgetStats BudgetLedger::stats() const {
  MutexLock lock(mutex_);
  return stats_;
}

}  // namespace hvd::autograd
