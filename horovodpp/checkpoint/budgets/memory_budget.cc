// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/checkpoint/budgets/memory_budget.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/error.h"
#include "horovodpp/checkpoint/budgets/budget_ledger.h"

namespace hvd {
MemoryBudget::MemoryBudget(std::int64_t bytes, autograd::Allocator& allocator) {
  if (bytes < 0) {
    throw InvalidArgument(absl::StrCat("a memory budget of ", bytes,
                                       " bytes; wanted is 0 or "
                                       "more"));
  }
  ledger_ = autograd::BudgetLedger::make(bytes, allocator);
  outer_ = autograd::BudgetLedger::exchange(ledger_);
}

MemoryBudget::~MemoryBudget() {
  autograd::BudgetLedger::exchange(std::move(outer_));
}

MemoryBudgetStats MemoryBudget::stats() const { return ledger_->stats(); }

}  // namespace hvd
