// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/checkpoint/budgets/budget_family.h"

#include <utility>

namespace hvd::autograd {
namespace {

thread_local BudgetFamily* family_in_force = nullptr;

}  // namespace

BudgetFamily::Scope::Scope(BudgetFamily& family)
    : outer_(std::exchange(family_in_force, &family)) {}
BudgetFamily::Scope::~Scope() { family_in_force = outer_; }

BudgetFamily* BudgetFamily::of_thread() {
  const bool applies = family_in_force != nullptr &&
                       family_in_force->task_ == graph_state.graph_task;
  return applies ? family_in_force : nullptr;
}

}  // namespace hvd::autograd
