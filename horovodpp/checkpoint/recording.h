// SPDX-License-Identifier: Apache-2.0
// A Recording is the record that one call of a checkpointed function leaves for
// backward. It stands in for the tensors that inner operations saved. It either
// holds them, and may drop them at any time (drop()), or knows only their
// shape, dtype and version.
//
// A Recording is a node without incoming edges. So it has a name and a place in
// the order of nodes, and long chains of regions are destroyed without
// recursion. One thread runs forward; later changes may come from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "horovodpp/autograd/graph/node.h"
#include "horovodpp/autograd/graph/operation_observer.h"
#include "horovodpp/autograd/record/autocast.h"
#include "horovodpp/autograd/record/captured_tensors.h"
#include "horovodpp/autograd/record/effects.h"
#include "horovodpp/autograd/saved/saved_tensor.h"
#include "horovodpp/checkpoint/budgets/budget_holder.h"
#include "horovodpp/checkpoint/policies/options.h"
#include "horovodpp/core/export.h"
#include "horovodpp/core/thread/lockable.h"
#include "horovodpp/core/thread/spin_lock.h"
#include "horovodpp/tensor/base/generator.h"

namespace HVD_EXPORT hvd {
namespace autograd {

// The operations that a run of a checkpointed function recorded, in order. The
// error for two runs that differ prints them.
class OperationLog {
 public:
  // Records the call stack as well. `operation` has static lifetime.
  void add(const char* operation);
  bool empty() const { return entries_.empty(); }
  // One line per operation, followed by its call stack.
  std::string to_string() const;

 private:
  struct Entry {
    const char* operation;
    std::vector<void*> calls;
  };
  std::vector<Entry> entries_;
};

class BudgetLedger;
class KeptResults;

class Recording : public Node,
                  public SavedTensorStore,
                  public SavedTensorHolder,
                  public OperationObserver,
                  public BudgetHolder {
 public:
  // Captures this thread's modes and generator for replays.
  explicit Recording(const CheckpointOptions& options);

  // Call before forward, with the tensors among the function's arguments.
  void save_inputs(std::span<const Tensor> inputs);

  // While it lives, tensors saved by operations on this thread belong to the
  // region.
  class Forward {
   public:
    explicit Forward(Recording& recording);
    ~Forward();
    // Call after the function returns. Reports its outside tensors to the
    // enclosing region.
    void finish() const;
    Forward(const Forward&) = delete;
    Forward& operator=(const Forward&) = delete;

   private:
    Recording& recording_;
    const std::shared_ptr<void> context_;
    OperationObserver* const outer_;
    BudgetFamily family_;
    BudgetFamily::Scope family_scope_;
    SavedTensorStore::Scope store_;
    OperationObserver::Scope observer_;
    EffectScope effects_;
  };

  // The description of one saved tensor.
  struct Slot {
    Dims shape;
    DType dtype = DType::kF32;
    const char* operation = "";  // Name of the node that saved it.
    std::uint32_t version = 0;
    std::uint64_t checksum = 0;  // With DeterminismCheck::kChecksum only.
  };

  const CheckpointOptions& options() const { return options_; }
  const OperationLog& log() const { return log_; }
  // text_of_type() of the function. For a lambda it contains the enclosing
  // function, or the line.
  virtual const char* function_type() const = 0;
  // The function's name for `tensor`, or empty.
  virtual std::string name_of(const Tensor& tensor) const = 0;
  const std::vector<Slot>& slots() const { return slots_; }
  const CapturedTensors& captured() const { return captured_; }
  // Null without a policy.
  KeptResults* kept() const { return kept_.get(); }
  // For each slot, whether a node may still ask for it; ends with the last
  // wanted slot.
  std::vector<bool> wanted() const;

  // --- For a memory budget ---
  // Bytes that drop() would free: memory without other owners.
  std::int64_t held_bytes() const override;
  bool is_running() const { return running_; }
  bool is_in_use() const override { return running_ || is_unpacked_; }
  double replay_seconds() const override { return replay_seconds_; }
  // Turns this into an ordinary checkpoint.
  std::vector<Tensor> drop() override;
  void refill(std::uint32_t place, const Tensor& tensor) override;
  std::uint64_t budget_mark() const override { return mark_; }
  std::vector<std::uint64_t> children() const override { return children_; }

  // --- Node ---
  const char* name() const override { return "Checkpoint"; }
  void apply(std::span<Tensor> gradients, std::span<Tensor> results) override;

  // --- SavedTensorStore, SavedTensorHolder, OperationObserver ---
  Kept keep(const Tensor& tensor) override;
  Tensor original(std::uint32_t place) const override;
  void forget(std::uint32_t place) override;
  void reads(const Tensor& tensor) override { captured_.reads(tensor); }
  void records(const Node& node) override;
  bool recalls(const char* operation, OperationResults& results) override;
  void made(const char* operation, const OperationResults& results) override;
  void named(const Tensor& tensor, std::string_view name) override;
  void retain() override { Node::retain(); }
  void release() override { Node::release(); }

 protected:
  ~Recording() override;

  // The state of the creating thread at construction.
  const AutocastSetting& autocast() const { return autocast_; }
  const Generator::State& random() const { return random_; }
  // Older storages come from outside.
  std::uint64_t mark() const { return mark_; }
  EffectLog& effects() { return effects_; }
  const std::shared_ptr<BudgetLedger>& ledger() const { return ledger_; }
  // The tensors among the function's arguments.
  std::vector<Tensor> unpacked_inputs();

 private:
  // Stores the content of the last slot, under a budget.
  void keep_content(const Tensor& tensor);
  // The family for regions created during forward.
  BudgetFamily family();
  // Sets the replay time to the time worked so far.
  void note_time();

  const CheckpointOptions options_;
  const std::uint64_t mark_;  // Older storages come from outside.
  const AutocastSetting autocast_;
  const Generator::State random_;
  std::vector<SavedTensor> inputs_;
  CapturedTensors captured_;
  const char* operation_ = "";  // The last recorded operation.
  OperationLog log_;
  EffectLog effects_;
  const std::unique_ptr<KeptResults> kept_;
  OperationObserver* outer_ = nullptr;  // Set while forward runs.
  std::vector<Slot> slots_;
  // Null unless the region keeps its tensors.
  std::shared_ptr<BudgetLedger> ledger_;
  std::vector<std::uint64_t> children_;  // Nested regions; only with a ledger.
  // In a recomputation: the corresponding region of the first run.
  BudgetTwin twin_;
  std::atomic<bool> running_{false};
  // A node has freed one of its tensors.
  std::atomic<bool> is_unpacked_{false};
  double began_ = 0.0;  // In worked_seconds(), under a budget.
  std::atomic<double> replay_seconds_{0.0};
  // The state of each slot after forward; slots past the end are wanted and
  // empty.
  struct Content {
    Tensor value;  // Set while kept.
    bool wanted = true;
  };
  mutable SpinLock lock_;
  std::vector<Content> contents_ HVD_GUARDED_BY(lock_);
  bool keeps_ HVD_GUARDED_BY(lock_) = false;
};

// A hash of the bits of all elements.
std::uint64_t checksum(const Tensor& tensor);

}  // namespace autograd
}  // namespace hvd
