// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/rules/sam.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/reduce_ops.h"
#include "horovodpp/optim/gradients.h"
#include "horovodpp/tensor/base/thread_state.h"

namespace hvd::optim {

SAM::SAM(std::unique_ptr<Optimizer> wrapped, const SAMOptions& options)
    : OptimizerWrapper(std::move(wrapped), "SAM"), options_(options) {
  if (options.rho >= 0) return;
  throw InvalidArgument(
      absl::StrCat("SAM: rho is ", options.rho, "; it must not be negative"));
}

void SAM::ascend() {
  if (!origins_.empty()) {
    throw InvalidArgument("SAM: ascend() comes once before each step()");
  }
  finish_gradients();
  const NoGrad no_grad;
  double squares = 0;
  for (const auto& [name, parameter] : parameters()) {
    refuse_sparse(parameter, "SAM", "leave it out");
    const Tensor gradient = parameter.grad();
    if (!gradient.defined()) continue;
    squares += autograd::sum_of_squares(options_.adaptive ? gradient * parameter
                                                          : gradient);
  }
  const double by = options_.rho / (std::sqrt(squares) + 1e-12);
  origins_.resize(parameters().size());
  for (std::size_t i = 0; i < origins_.size(); ++i) {
    const Tensor& parameter = parameters()[i].tensor;
    const Tensor gradient = parameter.grad();
    if (!gradient.defined()) continue;
    origins_[i] = parameter.detach().clone();
    parameter.add_(
        options_.adaptive ? gradient * parameter * parameter : gradient, by);
  }
  zero_grad();
}

void SAM::descend() {
  const NoGrad no_grad;
  for (std::size_t i = 0; i < origins_.size(); ++i) {
    if (origins_[i].defined()) parameters()[i].tensor.copy_(origins_[i]);
  }
  origins_.clear();
}

void SAM::step() {
  descend();
  wrapped().step();
}

}  // namespace hvd::optim
