// SPDX-License-Identifier: Apache-2.0
// A checkpointed region as its memory budget sees it: a holder of tensors, and
// a member of a family of nested regions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "horovodpp/autograd/graph/graph_state.h"
#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {
namespace autograd {

// A checkpointed region as its memory budget sees it: it keeps the tensors it
// computed, and can drop them.
class BudgetHolder {
 public:
  // Bytes that drop() would free: memory without other owners.
  virtual std::int64_t held_bytes() const = 0;
  // Whether forward runs, or a backward has reached the region and will soon
  // free its tensors.
  virtual bool is_in_use() const = 0;
  // The cost of drop(): the time that forward took up to its last saved tensor.
  virtual double replay_seconds() const = 0;
  // Drops all kept tensors and returns them.
  virtual std::vector<Tensor> drop() = 0;
  // Takes back a dropped tensor if it matches `place` and is still wanted.
  virtual void refill(std::uint32_t place, const Tensor& tensor) = 0;

  // Unique per holder.
  virtual std::uint64_t budget_mark() const = 0;
  // The marks of nested regions, in order.
  virtual std::vector<std::uint64_t> children() const = 0;

 protected:
  ~BudgetHolder() = default;
};

// The regions nested in a region under a budget, in the order in which its
// function creates them. When the outer function runs again, it creates a twin
// of each nested region. A twin needs no saved tensors of its own: they refill
// the region of the first run, from which backward will read.

class BudgetLedger;

// The mark of the corresponding region of the first run, with its ledger.
struct BudgetTwin {
  std::shared_ptr<BudgetLedger> ledger;  // Null: no twin.
  std::uint64_t mark = 0;
};

// The family of regions created on this thread.
class BudgetFamily {
 public:
  // Collects no regions.
  BudgetFamily() = default;
  // The first run of a region: adds the marks of nested regions to `children`.
  explicit BudgetFamily(std::vector<std::uint64_t>* children)
      : children_(children) {}
  // A later run; `twins` are the nested regions of the first run.
  BudgetFamily(std::shared_ptr<BudgetLedger> ledger,
               std::vector<std::uint64_t> twins)
      : ledger_(std::move(ledger)), twins_(std::move(twins)) {}

  void add(std::uint64_t mark) {
    if (children_ != nullptr) children_->push_back(mark);
  }
  // The twin of the next region.
  BudgetTwin next_twin() {
    if (next_ >= twins_.size()) return {};
    return {ledger_, twins_[next_++]};
  }

  // Puts `family`, which outlives the scope, in force on this thread.
  class Scope {
   public:
    explicit Scope(BudgetFamily& family)
        : outer_(std::exchange(graph_state.budget_family, &family)) {}
    ~Scope() { graph_state.budget_family = outer_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    BudgetFamily* const outer_;
  };
  // The family in force; null if none, or if a backward that began later runs.
  static BudgetFamily* of_thread() {
    BudgetFamily* const family = graph_state.budget_family;
    const bool applies =
        family != nullptr && family->task_ == graph_state.graph_task;
    return applies ? family : nullptr;
  }

 private:
  const GraphTask* const task_ = graph_state.graph_task;
  std::vector<std::uint64_t>* children_ = nullptr;
  std::shared_ptr<BudgetLedger> ledger_;
  std::vector<std::uint64_t> twins_;
  std::size_t next_ = 0;
};

}  // namespace autograd
}  // namespace hvd
