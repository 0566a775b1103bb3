// SPDX-License-Identifier: Apache-2.0
// The outside tensors that a checkpointed function read in forward, with their
// versions. The recomputation must find the same versions.
//
//   captured.reads(w);                       // in forward
//   CapturedTensors::Check check(captured);  // in the second run
//   if (auto change = check.reads(w)) throw CheckpointError(change->text(""));
//
// Also records whether leaves required grad in forward, which decides what
// operations save:
//
//   w.set_requires_grad(false);                          // after forward
//   const CapturedTensors::AsInForward scope(captured);
//   w.requires_grad();                                   // true
//
// One thread fills it; several threads may check at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "horovodpp/autograd/graph/operation_observer.h"
#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {
namespace autograd {

class CapturedTensors {
 public:
  // Storages older than `mark` come from outside the function.
  explicit CapturedTensors(std::uint64_t mark);
  ~CapturedTensors();
  CapturedTensors(const CapturedTensors&) = delete;
  CapturedTensors& operator=(const CapturedTensors&) = delete;

  // Records `tensor`, which may be undefined, if it comes from outside.
  void reads(const Tensor& tensor);
  // Reports the captured tensors that still exist to `observer`; null: no-op.
  void report_to(OperationObserver* observer) const;

  struct Change {
    // The message of the error; `name` is the tensor's name, or empty.
    std::string text(std::string_view name) const;
    std::string tensor;
    std::uint32_t before = 0;
    std::uint32_t after = 0;
  };

  // One recomputation of the function. `captured` outlives it.
  class Check {
   public:
    explicit Check(const CapturedTensors& captured)
        : captured_(&captured), mark_(Storage::next_mark()) {}
    // How `tensor` changed since forward read it, if it did.
    std::optional<Change> reads(const Tensor& tensor);

   private:
    const CapturedTensors* captured_;
    std::uint64_t mark_;
    std::size_t next_ = 0;  // Index of the expected next read.
  };

  // While it lives, a tensor older than `captured` requires grad on this thread
  // if it did at the time of `captured`.
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
    const Storage* storage = nullptr;  // Only compared; may dangle.
    std::uint32_t version = 0;
  };

  // Whether `tensor` comes from outside and its storage was not yet seen since
  // `mark`.
  bool is_new(const Tensor& tensor, std::uint64_t mark) const;

  std::uint64_t mark_;
  // The mark of the outermost forward that is being recomputed.
  std::uint64_t forward_mark_;
  std::vector<Captured> all_;
};

// Sets whether a leaf requires grad. A recomputation of an earlier forward does
// not see the change unless the recomputed function itself makes the call.
void change_requires_grad(const Tensor& leaf, bool value);
// Whether `tensor`, which has no grad_fn, requires grad on this thread.
bool required_grad(const Tensor& tensor);

}  // namespace autograd
}  // namespace hvd
