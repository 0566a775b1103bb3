// SPDX-License-Identifier: Apache-2.0
// A SavedTensor is a node's only way to keep a tensor for backward. It refuses
// to return a modified version, knows when it was freed, and counts its bytes.
// A store (hooks, a checkpointed region) may hold the tensor in another form,
// or drop it.
//
//   node->self.save(x);              // an input of the operation
//   node->result.save_output(y);     // a result: without a reference cycle
//   ...
//   Tensor x = self.unpack(*this);   // in Node::apply
//
// unpack() and release() may be called from several threads.
#pragma once

#include <any>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "horovodpp/autograd/graph/node.h"
#include "horovodpp/core/export.h"
#include "horovodpp/core/thread/spin_lock.h"
#include "horovodpp/tensor/base/intrusive_ptr.h"
#include "horovodpp/tensor/base/memory_ledger.h"
#include "horovodpp/tensor/base/thread_state.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {
namespace autograd {

// Holds saved tensors for nodes, which fetch them in backward by place number.
// Thread-safe.
class SavedTensorHolder {
 public:
  // The tensor of `place`, for `node`, which saved it.
  virtual Tensor restore(std::uint32_t place, Node& node) = 0;
  // The saved tensor itself if it still exists, for the version check.
  virtual Tensor original(std::uint32_t place) const = 0;
  // The tensor of `place` is no longer needed.
  virtual void forget(std::uint32_t place) = 0;

  virtual void retain() = 0;
  virtual void release() = 0;

 protected:
  ~SavedTensorHolder() = default;
};

// Decides where to hold saved tensors while in force on a thread.
class SavedTensorStore {
 public:
  struct Kept {
    Ref<SavedTensorHolder> holder;  // Null: the node holds the tensor itself.
    std::uint32_t place = 0;
  };
  // Called once per saved tensor; must not write to it.
  virtual Kept keep(const Tensor& tensor) = 0;

  virtual void retain() = 0;
  virtual void release() = 0;

  // Puts `store`, which outlives the scope, in force on this thread. The
  // innermost scope wins.
  //   HookError  a Disabled forbids it
  class Scope {
   public:
    explicit Scope(SavedTensorStore& store);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    SavedTensorStore* outer_;
  };

 protected:
  ~SavedTensorStore() = default;
};

// A pair of functions that stores saved tensors in another form. `pack` runs
// once per saved tensor and must not write to it; `unpack` runs at each use.
class SavedTensorHooks final : public SavedTensorStore {
 public:
  using Pack = std::function<std::any(const Tensor&)>;
  using Unpack = std::function<Tensor(const std::any&)>;

  SavedTensorHooks(Pack pack_hook, Unpack unpack_hook)
      : pack(std::move(pack_hook)), unpack(std::move(unpack_hook)) {}

  // While it lives, saved tensors of operations on this thread pass through the
  // pair.
  class Scope {
   public:
    Scope(Pack pack, Unpack unpack);

   private:
    Ref<SavedTensorHooks> hooks_;
    SavedTensorStore::Scope scope_;
  };

  // While it lives, entering a Scope on this thread throws HookError(reason).
  class Disabled {
   public:
    explicit Disabled(std::string reason);
    ~Disabled();
    Disabled(const Disabled&) = delete;
    Disabled& operator=(const Disabled&) = delete;

   private:
    std::string reason_;
    const std::string* outer_;
  };

  Kept keep(const Tensor& tensor) override;
  void retain() override { owners_.fetch_add(1, std::memory_order_relaxed); }
  void release() override {
    if (owners_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  const Pack pack;
  const Unpack unpack;

 private:
  std::atomic<std::uint32_t> owners_{1};
};

class SavedTensor {
 public:
  // Saves nothing; unpacks an undefined tensor.
  SavedTensor() = default;
  ~SavedTensor() { drop(); }
  SavedTensor(const SavedTensor&) = delete;
  SavedTensor& operator=(const SavedTensor&) = delete;

  // Saves `tensor`. Call once, while the operation is being recorded.
  //   HookError  a pack hook wrote to the tensor
  void save(const Tensor& tensor) {
    keep(tensor, false);
    if (MemoryLedger::exists()) list(tensor);
  }
  // The same for a result of the operation, after set_history().
  void save_output(const Tensor& tensor);

  // The saved tensor. `node` is the owner of this SavedTensor.
  //   GraphFreedError  it was released
  //   VersionError     it was modified in place since
  // A result keeps its history if grad mode is on or the caller asks for it.
  Tensor unpack(Node& node) { return unpack(node, is_grad_enabled()); }
  Tensor unpack(Node& node, bool with_history_of_result);

  // Frees the tensor. Unpacking a SavedTensor that saved nothing still works.
  void release();

  // `root`, no view, was written and is about to get a history. That history
  // may lead to nodes that saved `root` or its views: they stop owning it.
  static void release(const Tensor& root);

 private:
  enum class State : std::uint8_t { kNothing, kHeld, kFreed };
  void keep(const Tensor& tensor, bool is_output);
  void hand_over(const Tensor& tensor, SavedTensorStore& store);
  Tensor unpack_held(Node& node, const SavedTensorStore::Kept& kept,
                     const Ref<Node>& source) const;
  void list(const Tensor& saved) const;  // In the MemoryLedger.
  static void unlist(const Tensor& saved);
  void drop();
  void enlist();
  void delist(TensorImpl& root);
  Tensor restored(Node& node, const SavedTensorStore::Kept& kept) const;
  void check_version(const Tensor& saved, Node& node) const;
  void check_attached(const Tensor& tensor, Node& node) const;

  // Undefined if a holder has it; then kept_ and source_, the node that
  // receives its gradient, are set.
  Tensor tensor_;
  SavedTensorStore::Kept kept_;
  Ref<Node> source_;
  // The tensor whose list contains this, under its lock; null: no list.
  TensorImpl* enlisted_ = nullptr;
  SavedTensor* next_ = nullptr;
  SavedTensor* previous_ = nullptr;
  WeakTensor written_;  // The tensor that release() took away.
  std::int64_t counted_bytes_ = 0;
  std::uint32_t version_ = 0;
  std::uint32_t output_nr_ = 0;
  State state_ = State::kNothing;
  bool is_output_ = false;
  bool has_history_ = false;  // An input that was no leaf.
  SpinLock lock_;
};

// Throws the GraphFreedError for the saved tensors of `node`.
[[noreturn]] void throw_graph_freed(const Node& node);

// Total bytes of saved tensors in this process. A tensor saved twice counts
// twice; a tensor stored by a hook does not count.
std::int64_t saved_tensor_bytes();

}  // namespace autograd
}  // namespace hvd
