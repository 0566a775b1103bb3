// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/reduction/handover.h"

#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/sparse_gradient.h"
#include "horovodpp/core/status.h"
#include "horovodpp/optim/reduction/sparse_reduction.h"

namespace hvd::optim {

Handover::Handover(const std::vector<nn::NamedTensor>& parameters,
                   replica::GradientReducer& reducer,
                   const Contributions& contributions, ParameterShards* shards,
                   bool sparse_as_dense)
    : parameters_(parameters),
      reducer_(reducer),
      contributions_(contributions),
      shards_(shards),
      sparse_as_dense_(sparse_as_dense),
      under_way_(parameters.size()),
      views_(parameters.size()) {}

void Handover::give(std::size_t parameter) {
  const Tensor& tensor = parameters_[parameter].tensor;
  if (!sparse_as_dense_ && is_sparse_parameter(tensor)) {
    return give_rows(parameter);
  }
  // In the layout that all ranks share.
  const Tensor gradient = shards_ != nullptr && shards_->has(parameter)
                              ? shards_->gradient_in_place(parameter)
                              : dense_gradient(tensor);
  reducer_.add(contributions_.slots()[parameter], view_of(parameter, gradient));
  under_way_[parameter] = {gradient, gradient.version()};
}

// Most gradients have the same memory as in the step before.
const TensorView& Handover::view_of(std::size_t parameter,
                                    const Tensor& gradient) {
  TensorView& view = views_[parameter];
  const bool is_of_it = view.data() == gradient.raw_data() &&
                        view.dtype() == gradient.dtype() &&
                        gradient.shape() == autograd::Dims(view.shape());
  if (!is_of_it) view = gradient.tensor_view();
  return view;
}

void Handover::give_rows(std::size_t parameter) {
  const auto& [name, tensor] = parameters_[parameter];
  make_sparse(tensor);
  const Tensor gradient = autograd::kept_gradient(tensor);
  const SparseRows rows = autograd::rows_of(gradient);
  const auto result = std::make_shared<replica::GatheredRows>();
  reducer_.add_rows(name, rows.rows.tensor_view(), rows.values.tensor_view(),
                    result);
  under_way_[parameter] = {gradient, gradient.version(), result};
}

void Handover::check_untouched(std::size_t parameter) const {
  const auto& [name, tensor] = parameters_[parameter];
  const Given& given = under_way_[parameter];
  if (!autograd::kept_gradient(tensor).is_same(given.gradient)) {
    throw Error(absl::FailedPreconditionError(absl::StrCat(
        "the gradient of '", name,
        "' was replaced while it was being reduced; clear or replace "
        "gradients after step() or synchronize(), not between backward and "
        "these")));
  }
  if (given.gradient.version() != given.version) {
    throw Error(absl::FailedPreconditionError(absl::StrCat(
        "the gradient of '", name,
        "' was written while it was being reduced; change gradients after "
        "synchronize(), or between backward calls before the last one of a "
        "step")));
  }
}

void Handover::take_back() {
  const absl::Cleanup all_is_back = [this] { forget(); };
  for (std::size_t i = 0; i < under_way_.size(); ++i) {
    if (has(i)) check_untouched(i);
  }
  for (std::size_t i = 0; i < under_way_.size(); ++i) {
    if (has(i)) take_back(i);
  }
}

void Handover::take_back(std::size_t parameter) {
  const Tensor& tensor = parameters_[parameter].tensor;
  const Given& given = under_way_[parameter];
  if (given.rows != nullptr) return take_gathered(tensor, *given.rows);
  given.gradient.bump_version();
  if (is_sparse_parameter(tensor)) {
    autograd::set_sparse_grad(tensor, nonzero_rows(given.gradient));
  }
}

void Handover::forget() {
  for (Given& given : under_way_) given = {};
}

}  // namespace hvd::optim
