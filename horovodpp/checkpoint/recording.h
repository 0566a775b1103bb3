// SPDX-License-Identifier: Apache-2.0
// A Recording is what one call of a checkpointed function leaves for backward. It
// stands where the tensors would be that the operations within saved: it holds
// them, and can let go of them at any time (drop()), or knows of each only what
// it looked like.
//
// A Recording is a node that no edge leads to: it has a name and a place in the
// order of nodes, and long chains of regions die as nodes do, without recursion.
// One thread runs forward; what changes after that may be changed by any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "horovodpp/autograd/autocast.h"
#include "horovodpp/autograd/captured_tensors.h"
#include "horovodpp/autograd/effects.h"
#include "horovodpp/autograd/node.h"
#include "horovodpp/autograd/operation_observer.h"
#include "horovodpp/autograd/saved_tensor.h"
#include "horovodpp/checkpoint/budget_family.h"
#include "horovodpp/checkpoint/budget_holder.h"
#include "horovodpp/checkpoint/operation_log.h"
#include "horovodpp/checkpoint/options.h"
#include "horovodpp/core/export.h"
#include "horovodpp/core/lockable.h"
#include "horovodpp/core/spin_lock.h"
#include "horovodpp/tensor/generator.h"

namespace HVD_EXPORT hvd {
namespace autograd {

class BudgetLedger;
class KeptResults;

class Recording : public Node,
                  public SavedTensorKeeper,
                  public SavedTensorHolder,
                  public OperationObserver,
                  public BudgetHolder {
 public:
  // Takes the modes and the generator of this thread for its replays.
  explicit Recording(const CheckpointOptions& options);

  // Before forward: the tensors among the function's arguments.
  void save_inputs(std::span<const Tensor> inputs);

  // While it lives, what operations on this thread save belongs to the region.
  class Forward {
   public:
    explicit Forward(Recording& recording);
    ~Forward();
    // Once the function has returned. What it read from outside the region around
    // this one, that one has read, too.
    void finish() const;
    Forward(const Forward&) = delete;
    Forward& operator=(const Forward&) = delete;

   private:
    Recording& recording_;
    const std::shared_ptr<void> context_;
    OperationObserver* const outer_;
    BudgetFamily family_;
    BudgetFamily::Scope family_scope_;
    SavedTensorKeeper::Scope keeper_;
    OperationObserver::Scope observer_;
    EffectLog::Scope effects_;
  };

  // What the operations within saved.
  struct Slot {
    Dims shape;
    DType dtype = DType::kF32;
    const char* operation = "";  // Of the node that saved it.
    std::uint32_t version = 0;
    std::uint64_t checksum = 0;  // If the options ask for it.
  };

  const CheckpointOptions& options() const { return options_; }
  const OperationLog& log() const { return log_; }
  // What text_of_type() gives for its function. A lambda's names the function that it
  // is written in, or its line.
  virtual const char* function_type() const = 0;
  // What the function calls `tensor`; empty if it has no name for it.
  virtual std::string name_of(const Tensor& tensor) const = 0;
  const std::vector<Slot>& slots() const { return slots_; }
  const CapturedTensors& captured() const { return captured_; }
  // Null without a policy.
  KeptResults* kept() const { return kept_.get(); }
  // Of each slot, whether a node may still ask for it; without those behind the
  // last that is wanted.
  std::vector<bool> wanted() const;

  // --- For a memory budget ---
  // What would be free if the region let go of what it holds: memory that is
  // nobody else's.
  std::int64_t held_bytes() const override;
  bool is_running() const { return running_; }
  bool is_in_use() const override { return running_ || is_unpacked_; }
  double replay_seconds() const override { return replay_seconds_; }
  // From then on this is an ordinary checkpoint.
  std::vector<Tensor> drop() override;
  void refill(std::uint32_t place, const Tensor& tensor) override;
  std::uint64_t budget_mark() const override { return mark_; }
  std::vector<std::uint64_t> children() const override { return children_; }

  // --- Node ---
  const char* name() const override { return "Checkpoint"; }
  void apply(std::span<Tensor> gradients, std::span<Tensor> results) override;

  // --- SavedTensorKeeper, SavedTensorHolder, OperationObserver ---
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

  // Of the thread that made it, when it did.
  const AutocastSetting& autocast() const { return autocast_; }
  const Generator::State& random() const { return random_; }
  // Older storages come from outside.
  std::uint64_t mark() const { return mark_; }
  EffectLog& effects() { return effects_; }
  const std::shared_ptr<BudgetLedger>& ledger() const { return ledger_; }
  // The tensors among the function's arguments.
  std::vector<Tensor> unpacked_inputs();

 private:
  // Of the slot made last, under a budget.
  void keep_content(const Tensor& tensor);
  // What regions made during forward belong to.
  BudgetFamily family();
  // What is done so far has to be done again for what is saved so far.
  void note_time();

  const CheckpointOptions options_;
  const std::uint64_t mark_;  // What is older comes from outside.
  const AutocastSetting autocast_;
  const Generator::State random_;
  std::vector<SavedTensor> inputs_;
  CapturedTensors captured_;
  const char* operation_ = "";  // Recorded last.
  OperationLog log_;
  EffectLog effects_;
  const std::unique_ptr<KeptResults> kept_;
  OperationObserver* outer_ = nullptr;  // While forward runs.
  std::vector<Slot> slots_;
  // Null unless the region keeps what it computes.
  std::shared_ptr<BudgetLedger> ledger_;
  std::vector<std::uint64_t> children_;  // Made during forward, under a ledger.
  // In a recomputation: of the region that is computed again.
  BudgetTwin twin_;
  std::atomic<bool> running_{false};
  std::atomic<bool> is_unpacked_{false};  // Some of it is not needed any more.
  double began_ = 0.0;  // By worked_seconds(), under a budget.
  std::atomic<double> replay_seconds_{0.0};
  // What changes after forward, by slot; as if it were there for those that it
  // does not reach to.
  struct Content {
    Tensor value;  // While it is kept.
    bool wanted = true;
  };
  mutable SpinLock lock_;
  std::vector<Content> contents_ HVD_GUARDED_BY(lock_);
  bool keeps_ HVD_GUARDED_BY(lock_) = false;
};

// A hash of the elements of `tensor`, equal for equal bits.
std::uint64_t checksum(const Tensor& tensor);

}  // namespace autograd
}  // namespace hvd
