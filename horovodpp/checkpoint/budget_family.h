// SPDX-License-Identifier: Apache-2.0
// Regions within a region under a budget, in the order in which its function makes
// them. When the function runs again, it makes twins of them, which need nothing of
// what they compute: they give it back to those of the first run, which a backward
// will ask for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "horovodpp/autograd/graph_state.h"
#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {
namespace autograd {

class BudgetLedger;

// Of the first run of a region that a ledger knows, by its mark.
struct BudgetTwin {
  std::shared_ptr<BudgetLedger> ledger;  // Null: there is none.
  std::uint64_t mark = 0;
};

// What regions that are made on this thread belong to.
class BudgetFamily {
 public:
  // Nothing.
  BudgetFamily() = default;
  // The first run of a region: tells `children` of them.
  explicit BudgetFamily(std::vector<std::uint64_t>* children)
      : children_(children) {}
  // A further run of one with these.
  BudgetFamily(std::shared_ptr<BudgetLedger> ledger,
               std::vector<std::uint64_t> twins)
      : ledger_(std::move(ledger)), twins_(std::move(twins)) {}

  void add(std::uint64_t mark) {
    if (children_ != nullptr) children_->push_back(mark);
  }
  // That of the region that is made next.
  BudgetTwin next_twin() {
    if (next_ >= twins_.size()) return {};
    return {ledger_, twins_[next_++]};
  }

  // Puts `family`, which outlives the scope, in force on this thread.
  class Scope {
   public:
    explicit Scope(BudgetFamily& family);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    BudgetFamily* const outer_;
  };
  // The one in force; null if there is none, or if a backward runs that began since.
  static BudgetFamily* of_thread();

 private:
  const GraphTask* const task_ = graph_state.graph_task;
  std::vector<std::uint64_t>* children_ = nullptr;
  std::shared_ptr<BudgetLedger> ledger_;
  std::vector<std::uint64_t> twins_;
  std::size_t next_ = 0;
};

}  // namespace autograd
}  // namespace hvd
