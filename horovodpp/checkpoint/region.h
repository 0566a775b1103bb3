// A Region is one call of a checkpointed function: what backward needs to run it
// again. It stands where the tensors would be that the operations within saved.
//
// It has three lives. *Recorded and kept*: it holds those tensors, and can let
// go of them at any time (drop()). *Recorded*: it knows of each only what it
// looked like. *Replayed*: at the first tensor that a backward asks for, the
// function runs again, watched by a Replay, which collects the tensors for this
// backward; each is let go of as it is handed out.
//
// Regions nest: a tensor belongs to the innermost region, and the inputs of a
// region are saved as any tensor is, so that they belong to the one around it.
//
// A Region is a node that no edge leads to: it has a name and a place in the
// order of nodes, and long chains of regions die as nodes do, without recursion.
// One thread runs forward; any thread may run backward, several at once too.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "horovodpp/autograd/autocast.h"
#include "horovodpp/autograd/node.h"
#include "horovodpp/autograd/operation_observer.h"
#include "horovodpp/autograd/saved_tensor.h"
#include "horovodpp/autograd/spin_lock.h"
#include "horovodpp/checkpoint/effects.h"
#include "horovodpp/checkpoint/operation_log.h"
#include "horovodpp/checkpoint/options.h"
#include "horovodpp/tensor/generator.h"

namespace hvd::autograd {

class BudgetLedger;
class Replay;

class Region : public Node,
               public SavedTensorKeeper,
               public SavedTensorHolder,
               public OperationObserver {
 public:
  // Takes the modes and the generator of this thread for its replays.
  explicit Region(const CheckpointOptions& options);

  // Before forward: the tensors among the function's arguments.
  void save_inputs(std::span<const Tensor> inputs);

  // While it lives, what operations on this thread save belongs to the region.
  class Forward {
   public:
    explicit Forward(Region& region);
    ~Forward();
    // Once the function has returned. What it read from outside the region around
    // this one, that one has read, too.
    void finish() const;
    Forward(const Forward&) = delete;
    Forward& operator=(const Forward&) = delete;

   private:
    Region& region_;
    const std::chrono::steady_clock::time_point begin_;
    OperationObserver* const outer_;
    SavedTensorKeeper::Scope keeper_;
    OperationObserver::Scope observer_;
    EffectLog::Scope effects_;
  };

  // What the operations within saved.
  struct Slot {
    Dims sizes;
    DType dtype = DType::kF32;
    const char* operation = "";  // Of the node that saved it.
    std::uint64_t checksum = 0;  // If the options ask for it.
  };
  // A tensor from outside that forward read, and its version then.
  struct Captured {
    WeakTensor tensor;
    const TensorImpl* impl = nullptr;
    std::uint32_t version = 0;
  };

  const CheckpointOptions& options() const { return options_; }
  const OperationLog& log() const { return log_; }
  // What the function calls `tensor`; empty if it has no name for it.
  virtual std::string name_of(const Tensor& tensor) const = 0;
  const std::vector<Slot>& slots() const { return slots_; }
  const std::vector<Captured>& captured() const { return captured_; }
  // Of each slot, whether a node may still ask for it; without those behind the
  // last that is wanted.
  std::vector<bool> wanted() const;

  // --- For a memory budget ---
  // What would be free if the region let go of what it holds: memory that is
  // nobody else's.
  std::int64_t held_bytes() const;
  bool is_running() const { return running_; }
  // How long forward took.
  double forward_seconds() const { return forward_seconds_; }
  // Lets go of it; from now on this is an ordinary checkpoint.
  std::vector<Tensor> drop();

  // --- Node ---
  const char* name() const override { return "Checkpoint"; }
  void apply(std::span<Tensor> gradients, std::span<Tensor> results) override;

  // --- SavedTensorKeeper, SavedTensorHolder, OperationObserver ---
  Kept keep(const Tensor& tensor) override;
  Tensor restore(std::uint32_t place, Node& node) override;
  Tensor original(std::uint32_t place) const override;
  void forget(std::uint32_t place) override;
  void reads(const Tensor& tensor) override;
  void records(const Node& node) override;
  void retain() override { Node::retain(); }
  void release() override { Node::release(); }

 protected:
  ~Region() override;

 private:
  // Calls the function again, with these for the tensors among its arguments.
  virtual void call_again(std::span<const Tensor> inputs) = 0;

  void replay_into(Replay& replay);

  const CheckpointOptions options_;
  const std::uint64_t mark_;  // What is older comes from outside.
  const AutocastSetting autocast_;
  const Generator::State random_;
  std::vector<SavedTensor> inputs_;
  std::vector<Captured> captured_;
  const char* operation_ = "";  // Recorded last.
  OperationLog log_;
  EffectLog effects_;
  std::vector<Slot> slots_;
  // Null unless the region keeps what it computes.
  std::shared_ptr<BudgetLedger> ledger_;
  std::atomic<bool> running_{false};
  std::atomic<double> forward_seconds_{0.0};
  // What changes after forward, by slot.
  struct Content {
    Tensor value;  // While it is kept.
    bool wanted = true;
  };
  mutable SpinLock lock_;
  std::vector<Content> contents_ ABSL_GUARDED_BY(lock_);
  bool keeps_ ABSL_GUARDED_BY(lock_) = false;
};

// A hash of the elements of `tensor`, equal for equal bits.
std::uint64_t checksum(const Tensor& tensor);

}  // namespace hvd::autograd
