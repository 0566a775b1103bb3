// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/checkpoint/policies/policy.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/operation_observer.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/core/error.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {

OperationId::OperationId(const char* name) : OperationId(std::string(name)) {}

OperationId::OperationId(std::string name) : name_(std::move(name)) {
  if (autograd::is_operation_name(name_)) return;
  std::string all;
  for (const std::string_view known : autograd::kOperationNames) {
    if (!all.empty()) all += ", ";
    all += known;
  }
  throw InvalidArgument(absl::StrCat(
      "a checkpoint policy: there is no operation '", name_,
      "'; a custom Function is named by operation_of<F>(), and these are the "
      "others: ",
      all));
}

SelectivePolicy SelectivePolicy::operations(std::vector<OperationId> operations,
                                            CheckpointPolicy policy) {
  return SelectivePolicy([operations = std::move(operations),
                          policy](const CheckpointedOperation& operation) {
    const bool listed = std::any_of(operations.begin(), operations.end(),
                                    [&](const OperationId& id) {
                                      return id.name() == operation.operation;
                                    });
    return listed ? policy : CheckpointPolicy::kPreferRecompute;
  });
}

SelectivePolicy SelectivePolicy::names(std::vector<std::string> names,
                                       CheckpointPolicy policy) {
  return SelectivePolicy([names = std::move(names),
                          policy](const CheckpointedOperation& operation) {
    const bool listed =
        !operation.name.empty() &&
        std::find(names.begin(), names.end(), operation.name) != names.end();
    return listed ? policy : CheckpointPolicy::kPreferRecompute;
  });
}

Tensor checkpoint_name(const Tensor& tensor, std::string_view name) {
  autograd::check_defined(tensor, "checkpoint_name");
  if (auto* observer = autograd::OperationObserver::of_results()) {
    observer->named(tensor, name);
  }
  return tensor;
}

}  // namespace hvd
