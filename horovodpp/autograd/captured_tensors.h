// SPDX-License-Identifier: Apache-2.0
// The tensors that a checkpointed function read from outside, and their versions
// then: its second run must not find other versions.
//
//   captured.reads(w);                       // in forward
//   CapturedTensors::Check check(captured);  // in the second run
//   if (auto change = check.reads(w)) throw CheckpointError(change->text(""));
//
// And whether leaves required grad then, which decides what operations save:
//
//   w.set_requires_grad(false);                          // since
//   const CapturedTensors::AsInForward scope(captured);
//   w.requires_grad();                                   // true
//
// Filled by one thread; several may check at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "horovodpp/autograd/operation_observer.h"
#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {
namespace autograd {

class CapturedTensors {
 public:
  // Storages that are older than `mark` come from outside.
  explicit CapturedTensors(std::uint64_t mark);
  ~CapturedTensors();
  CapturedTensors(const CapturedTensors&) = delete;
  CapturedTensors& operator=(const CapturedTensors&) = delete;

  // Takes down `tensor`, which may be undefined, if it comes from outside.
  void reads(const Tensor& tensor);
  // Tells `observer`, who may be null, of those that still exist.
  void tell(OperationObserver* observer) const;

  struct Change {
    // The sentence of the error, in which the tensor has this name, if any.
    std::string text(std::string_view name) const;
    std::string tensor;
    std::uint32_t before = 0;
    std::uint32_t after = 0;
  };

  // One further run of the function, during which `captured` lives.
  class Check {
   public:
    explicit Check(const CapturedTensors& captured)
        : captured_(&captured), mark_(Storage::next_mark()) {}
    // What happened to `tensor` since forward read it.
    std::optional<Change> reads(const Tensor& tensor);

   private:
    const CapturedTensors* captured_;
    std::uint64_t mark_;
    std::size_t next_ = 0;  // The one that forward read next.
  };

  // In its scope, tensors that are older than `captured` require grad on this thread
  // if they did when it was made.
  class AsInForward {
   public:
    explicit AsInForward(const CapturedTensors& captured);
    ~AsInForward();
    AsInForward(const AsInForward&) = delete;
    AsInForward& operator=(const AsInForward&) = delete;

   private:
    std::uint64_t outer_;
  };

 private:
  struct Captured {
    WeakTensor tensor;
    const Storage* storage = nullptr;  // Where it lies; may be gone.
    std::uint32_t version = 0;
  };

  // Whether its version counts, and was not looked at with this mark.
  bool is_new(const Tensor& tensor, std::uint64_t mark) const;

  std::uint64_t mark_;
  std::uint64_t forward_mark_;  // Of the outermost forward computed again.
  std::vector<Captured> all_;
};

// Sets whether a leaf requires grad. A recomputation of an earlier forward will not
// notice, unless its own function calls this.
void change_requires_grad(const Tensor& leaf, bool value);
// Whether `tensor`, which has no grad_fn, requires grad on this thread.
bool required_grad(const Tensor& tensor);

}  // namespace autograd
}  // namespace hvd
