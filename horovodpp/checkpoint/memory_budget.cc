#include "horovodpp/checkpoint/memory_budget.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/error.h"
#include "horovodpp/checkpoint/budget_ledger.h"
#include "horovodpp/checkpoint/region.h"

namespace hvd {
namespace {

thread_local std::shared_ptr<autograd::BudgetLedger> innermost;

}  // namespace

MemoryBudget::MemoryBudget(std::int64_t bytes, autograd::Allocator& allocator) {
  if (bytes < 0) {
    throw InvalidArgument(absl::StrCat("a memory budget of ", bytes,
                                       " bytes; wanted is 0 or "
                                       "more"));
  }
  ledger_ = std::make_shared<autograd::BudgetLedger>(bytes, allocator);
  outer_ = std::exchange(innermost, ledger_);
}

MemoryBudget::~MemoryBudget() { innermost = std::move(outer_); }

MemoryBudget::Stats MemoryBudget::stats() const { return ledger_->stats(); }

namespace autograd {
namespace {

// Costs within this factor count as equal: they are measured once.
constexpr double kAboutTheSame = 1.25;

}  // namespace

BudgetLedger::BudgetLedger(std::int64_t bytes, Allocator& allocator)
    : bytes_(bytes),
      allocator_(allocator),
      before_(allocator.stats().current_bytes) {}

const std::shared_ptr<BudgetLedger>& BudgetLedger::current() {
  return innermost;
}

void BudgetLedger::add(Region* region) {
  MutexLock lock(mutex_);
  regions_.push_back(region);
  ++stats_.regions;
}

void BudgetLedger::remove(Region* region) {
  MutexLock lock(mutex_);
  std::erase(regions_, region);
}

bool BudgetLedger::is_exceeded() const {
  return allocator_.stats().current_bytes - before_ > bytes_;
}

Region* BudgetLedger::next_to_drop() const {
  struct Candidate {
    Region* region;
    double cost;  // Seconds for a byte.
  };
  std::vector<Candidate> candidates;
  double least = std::numeric_limits<double>::infinity();
  Region* running = nullptr;
  for (Region* region : regions_) {
    const std::int64_t bytes = region->held_bytes();
    if (bytes == 0) continue;
    if (region->is_running()) {
      running = region;
      continue;
    }
    const double cost = region->forward_seconds() / static_cast<double>(bytes);
    candidates.push_back({region, cost});
    least = std::min(least, cost);
  }
  for (const Candidate& candidate : candidates) {
    if (candidate.cost <= least * kAboutTheSame) return candidate.region;
  }
  return running;
}

void BudgetLedger::make_room() {
  while (is_exceeded()) {
    std::vector<Tensor> dropped;  // Freed after the lock: a hook may be told.
    MutexLock lock(mutex_);
    Region* region = next_to_drop();
    if (region == nullptr) return;
    ++stats_.dropped;
    stats_.dropped_bytes += region->held_bytes();
    dropped = region->drop();
  }
}

MemoryBudget::Stats BudgetLedger::stats() const {
  MutexLock lock(mutex_);
  return stats_;
}

}  // namespace autograd
}  // namespace hvd
