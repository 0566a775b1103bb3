// A SavedTensor is the only way in which a node keeps a tensor for its
// backward. It remembers the version it saved and refuses to return another;
// it knows when it was freed; it counts its bytes; and it lets hooks store the
// tensor in another form.
//
//   node->self.save(x);              // an input of the operation
//   node->result.save_output(y);     // a result: without a reference cycle
//   ...
//   Tensor x = self.unpack(*this);   // in Node::apply
//
// unpack() and release() may be called from several threads.
#pragma once

#include <any>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "horovodpp/autograd/spin_lock.h"
#include "horovodpp/tensor/intrusive_ptr.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

class Node;

// A pair of functions that stores saved tensors in another form: `pack` is
// called once for each tensor saved, and must not write to it; `unpack` each
// time it is needed.
class SavedTensorHooks {
 public:
  using Pack = std::function<std::any(const Tensor&)>;
  using Unpack = std::function<Tensor(const std::any&)>;

  SavedTensorHooks(Pack pack_hook, Unpack unpack_hook)
      : pack(std::move(pack_hook)), unpack(std::move(unpack_hook)) {}

  // While it lives, tensors saved by operations on this thread go through the
  // pair. The innermost scope counts.
  class Scope {
   public:
    Scope(Pack pack, Unpack unpack);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Ref<SavedTensorHooks> hooks_;
    SavedTensorHooks* outer_;
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

  void retain() { owners_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
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

  // Once, while the operation is being recorded.
  //   HookError  a pack hook wrote to the tensor
  void save(const Tensor& tensor) { keep(tensor, false); }
  // The same for a result of the operation, after set_history().
  void save_output(const Tensor& tensor);

  // What was saved. `node` is the one that this belongs to.
  //   GraphFreedError  it was released
  //   VersionError     it was modified in place since
  Tensor unpack(Node& node);

  // Frees it. unpack() of what was never saved still works.
  void release();

 private:
  enum class State : std::uint8_t { kNothing, kHeld, kFreed };
  // How hooks keep it. The weak reference serves the version check.
  struct Packed {
    Ref<SavedTensorHooks> hooks;
    std::any object;
    WeakTensor original;
  };

  void keep(const Tensor& tensor, bool is_output);
  void pack(const Tensor& tensor, SavedTensorHooks* hooks);
  void drop();
  void check_version(const Tensor& tensor, Node& node) const;
  void check_attached(const Tensor& tensor, Node& node) const;

  Tensor tensor_;
  std::shared_ptr<Packed> packed_;
  std::int64_t counted_bytes_ = 0;
  std::uint32_t version_ = 0;
  std::uint32_t output_nr_ = 0;
  State state_ = State::kNothing;
  bool is_output_ = false;
  bool has_history_ = false;  // An input that was no leaf.
  SpinLock lock_;
};

// Throws the GraphFreedError that says that what `node` saved is gone.
[[noreturn]] void throw_graph_freed(const Node& node);

// Bytes of all tensors saved for backward in this process, one by one (a tensor
// saved twice counts twice; one stored by a hook does not).
std::int64_t saved_tensor_bytes();

}  // namespace hvd::autograd
