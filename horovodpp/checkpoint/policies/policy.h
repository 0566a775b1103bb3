// SPDX-License-Identifier: Apache-2.0
// Selective checkpointing: the operation results that a checkpointed function
// keeps, so that its recomputation skips them.
//
//   hvd::checkpoint(block, x, hvd::CheckpointOptions{
//       .policy = {"matmul", "linear"}});                 // by operation
//   hvd::checkpoint(block, x, hvd::CheckpointOptions{
//       .policy = hvd::SelectivePolicy::names({"attention_out"})});
//   hvd::checkpoint(block, x, hvd::CheckpointOptions{
//       .policy = [](const hvd::CheckpointedOperation& operation) {
//         return operation.result.bytes() < 4096
//                    ? hvd::CheckpointPolicy::kPreferSave
//                    : hvd::CheckpointPolicy::kPreferRecompute;
//       }});
//
// autograd/record/result_of.h lists the names of operations. Views and in-place
// writes are not included, since they have no result to keep.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "horovodpp/autograd/record/function.h"
#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// The fate of a result between forward and recomputation. The values differ in
// the freedom of a MemoryBudget, or of a full OffloadPool.
enum class CheckpointPolicy {
  kMustSave,         // Kept.
  kPreferSave,       // Kept, until a MemoryBudget needs the memory.
  kMustRecompute,    // Recomputed.
  kPreferRecompute,  // Recomputed, unless a MemoryBudget has room.
  kMustOffload,      // Moved to the pool; an error if it is full.
  kPreferOffload,    // Moved to the pool; recomputed if it is full.
};

// The input of a policy: an operation that has just computed.
struct CheckpointedOperation {
  // "matmul"; for a custom Function, its type; empty if the name comes too
  // late.
  std::string_view operation;
  // The name from checkpoint_name(). A policy is called once after the
  // operation, without a name, and once per name. With a name, kPreferRecompute
  // changes nothing.
  std::string_view name;
  const Tensor& result;      // The first of several results.
  std::size_t position = 0;  // Index among the operations of this call.
};

// The name of an operation, or of a custom Function.
class OperationId {
 public:
  //   InvalidArgument  no operation has this name
  OperationId(const char* name);  // NOLINT
  OperationId(std::string name);  // NOLINT
  const std::string& name() const { return name_; }

 private:
  template <typename F>
  friend OperationId operation_of();
  struct OfFunction {};
  OperationId(OfFunction, std::string name) : name_(std::move(name)) {}

  std::string name_;
};

// The id of F::apply(), where F is a Function (autograd/record/function.h).
template <typename F>
OperationId operation_of() {
  std::string name = autograd::backward_name(autograd::signature_of<F>());
  name.resize(name.size() - std::string_view("Backward").size());
  return {OperationId::OfFunction(), std::move(name)};
}

// A policy: a list of the operations whose results are saved, or a function of
// CheckpointedOperation that returns a CheckpointPolicy, or whether to save. It
// is called during forward only. Cheap to copy.
class SelectivePolicy {
 public:
  using Function =
      std::function<CheckpointPolicy(const CheckpointedOperation&)>;

  // No policy: only the function's arguments are kept.
  SelectivePolicy() = default;
  SelectivePolicy(std::initializer_list<OperationId> saved)  // NOLINT
      : SelectivePolicy(operations({saved.begin(), saved.end()})) {}
  template <typename F>
  requires std::same_as<std::invoke_result_t<F&, const CheckpointedOperation&>,
                        CheckpointPolicy>
  SelectivePolicy(F function)  // NOLINT
      : function_(std::make_shared<const Function>(std::move(function))) {}
  template <typename F>
  requires std::same_as <
      std::invoke_result_t<F&, const CheckpointedOperation&>,
  bool > SelectivePolicy(F saves)  // NOLINT
      : SelectivePolicy(
            [saves = std::move(saves)](const CheckpointedOperation& operation) {
              return saves(operation) ? CheckpointPolicy::kMustSave
                                      : CheckpointPolicy::kPreferRecompute;
            }) {}

  // `policy` for these operations, kPreferRecompute for all others.
  static SelectivePolicy operations(
      std::vector<OperationId> operations,
      CheckpointPolicy policy = CheckpointPolicy::kMustSave);
  // The same for names given by checkpoint_name().
  static SelectivePolicy names(
      std::vector<std::string> names,
      CheckpointPolicy policy = CheckpointPolicy::kMustSave);

  explicit operator bool() const { return function_ != nullptr; }
  CheckpointPolicy operator()(const CheckpointedOperation& operation) const {
    return (*function_)(operation);
  }

 private:
  std::shared_ptr<const Function> function_;  // Null: no policy.
};

// Returns `tensor`, and tells the policy of the enclosing checkpointed
// function, if any, the program's name for it. Name a result or its view before
// the next operation computes. (For a tensor from elsewhere the name has no
// effect.)
//   CheckpointError  another operation computed in between
Tensor checkpoint_name(const Tensor& tensor, std::string_view name);

}  // namespace hvd
