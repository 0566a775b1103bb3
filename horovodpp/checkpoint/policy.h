// SPDX-License-Identifier: Apache-2.0
// Selective checkpointing: which results of a checkpointed function's operations
// are kept, so that its recomputation does not compute these again.
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
// Operations by name: see autograd/operation_name.h. Not among them are views and
// writes in place, which keep nothing.
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

#include "horovodpp/autograd/function.h"
#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// What becomes of a result between forward and recomputation. They differ in what
// a MemoryBudget, or an OffloadPool that is full, may change.
enum class CheckpointPolicy {
  kMustSave,         // It is kept.
  kPreferSave,       // It is kept, until a MemoryBudget needs the memory.
  kMustRecompute,    // It is computed again.
  kPreferRecompute,  // Likewise, unless a MemoryBudget has room for it.
  kMustOffload,      // It is moved to the pool; if that is full, an error.
  kPreferOffload,    // It is moved there; if that is full, computed again.
};

// What a policy decides on: an operation that has just computed.
struct CheckpointedOperation {
  // "matmul"; of a custom Function, its type; empty where a name comes too late.
  std::string_view operation;
  // What checkpoint_name() calls the result. The policy is asked when the
  // operation has computed, without a name, and once more for each name, when
  // kPreferRecompute changes nothing.
  std::string_view name;
  const Tensor& result;      // The first, if there are several.
  std::size_t position = 0;  // Among the operations of this call.
};

// The name of an operation, or of a custom Function.
class OperationId {
 public:
  //   InvalidArgument  there is no such operation
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

// That of F::apply(), F being a Function (autograd/function.h).
template <typename F>
OperationId operation_of() {
  std::string name = autograd::backward_name(autograd::signature_of<F>());
  name.resize(name.size() - std::string_view("Backward").size());
  return {OperationId::OfFunction(), std::move(name)};
}

// Any of: a list of the operations whose results are saved; a function of a
// CheckpointedOperation that returns a CheckpointPolicy, or whether to save. It
// is called during forward only. Cheap to copy.
class SelectivePolicy {
 public:
  using Function =
      std::function<CheckpointPolicy(const CheckpointedOperation&)>;

  // None: nothing is kept but what the function is given.
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

  // `policy` for these, and kPreferRecompute for all others.
  static SelectivePolicy operations(
      std::vector<OperationId> operations,
      CheckpointPolicy policy = CheckpointPolicy::kMustSave);
  // The same for what checkpoint_name() calls so.
  static SelectivePolicy names(
      std::vector<std::string> names,
      CheckpointPolicy policy = CheckpointPolicy::kMustSave);

  explicit operator bool() const { return function_ != nullptr; }
  CheckpointPolicy operator()(const CheckpointedOperation& operation) const {
    return (*function_)(operation);
  }

 private:
  std::shared_ptr<const Function> function_;  // Null: none.
};

// Returns `tensor`, having told the policy of the checkpointed function around it,
// if there is one, what the program calls it. Name a result, or a view of it, at
// once: before the next operation computes. (A tensor that comes from elsewhere
// has no result to keep, and its name no effect.)
//   CheckpointError  operations came in between
Tensor checkpoint_name(const Tensor& tensor, std::string_view name);

}  // namespace hvd
