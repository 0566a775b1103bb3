// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/optimizer_wrapper.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"

namespace hvd::optim {
namespace {

const std::vector<nn::NamedTensor>& parameters_of(
    const std::unique_ptr<Optimizer>& wrapped, const char* name) {
  if (wrapped == nullptr) {
    throw InvalidArgument(
        absl::StrCat(name, " was given no optimizer to wrap"));
  }
  return wrapped->parameters();
}

}  // namespace

OptimizerWrapper::OptimizerWrapper(std::unique_ptr<Optimizer> wrapped,
                                   const char* name)
    : Optimizer(parameters_of(wrapped, name)), wrapped_(std::move(wrapped)) {}

OptimizerWrapper::~OptimizerWrapper() = default;

std::vector<nn::NamedTensor> OptimizerWrapper::state() const {
  return wrapped_->state();
}
nn::StateDict OptimizerWrapper::state_dict() const {
  return wrapped_->state_dict();
}
void OptimizerWrapper::load_state_dict(const nn::StateDict& state,
                                       const nn::LoadOptions& options) {
  wrapped_->load_state_dict(state, options);
}
std::vector<double> OptimizerWrapper::learning_rates() const {
  return wrapped_->learning_rates();
}
void OptimizerWrapper::set_learning_rates(const std::vector<double>& rates) {
  wrapped_->set_learning_rates(rates);
}

}  // namespace hvd::optim
