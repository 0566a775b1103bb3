// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/sgd.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/optim/gradients.h"
#include "horovodpp/optim/vector_updates.h"
#include "horovodpp/tensor/walk.h"

namespace hvd::optim {

void SGDOptions::check() const {
  // Written so that NaN fails too.
  const bool valid = learning_rate >= 0 && momentum >= 0 && weight_decay >= 0;
  if (!valid) {
    throw InvalidArgument(absl::StrCat(
        "SGD: learning_rate ", learning_rate, ", momentum ", momentum,
        " and weight_decay ", weight_decay, " must not be negative"));
  }
  if (nesterov && (momentum == 0 || dampening != 0)) {
    throw InvalidArgument("SGD: nesterov wants a momentum and no dampening");
  }
}

std::vector<StateSlot> SGDOptions::slots() {
  return {{.name = "momentum_buffer"}};
}

namespace {

void move_rows(const Tensor& parameter, const SGDOptions& options) {
  if (options.momentum != 0 || options.weight_decay != 0) {
    refuse_sparse(parameter, "SGD with momentum or weight decay",
                  "leave these out, use Adagrad or SparseAdam");
  }
  const SparseRows gradient = rows_to_move(parameter, "SGD");
  autograd::visit_any_floating(
      parameter.dtype(), "SGD", [&]<typename T>(TypeTag<T>) {
        for_rows<T>(gradient, [&](std::int64_t offset, const T* row,
                                  std::int64_t width) {
          update(SgdUpdate<T>{.parameter = parameter.data<T>() + offset,
                              .gradient = row,
                              .count = width,
                              .rate = options.learning_rate,
                              .maximize = options.maximize});
        });
      });
  parameter.bump_version();
}

}  // namespace

void SGD::move(std::size_t index) {
  const Tensor& parameter = parameters()[index].tensor;
  const ElementRange* const part = part_of(index);
  const SGDOptions& options = options_of(index);
  Tensor& momentum_buffer = slots(index)[0];
  if (autograd::has_sparse_grad(parameter)) {
    return move_rows(parameter, options);
  }
  const Tensor grad = parameter.grad();
  if (!grad.defined() || (part != nullptr && part->count() == 0)) return;
  const UpdateTarget target(parameter, part);
  const Tensor gradient = target.alike(grad);
  const bool has_momentum = options.momentum != 0;
  const bool first = has_momentum && !momentum_buffer.defined();
  if (first) momentum_buffer = target.zeros();
  autograd::visit_any_floating(
      parameter.dtype(), "SGD", [&]<typename T>(TypeTag<T>) {
        update(SgdUpdate<T>{
            .parameter = target.elements().data<T>(),
            .gradient = gradient.data<T>(),
            .momentum = has_momentum ? momentum_buffer.data<T>() : nullptr,
            .count = target.elements().num_elements(),
            .rate = options.learning_rate,
            .decay = options.weight_decay,
            .mu = first ? 0.0 : options.momentum,
            .keep = first ? 1.0 : 1.0 - options.dampening,
            .look_ahead = options.momentum,
            .nesterov = options.nesterov,
            .maximize = options.maximize});
      });
  target.finish();
}

}  // namespace hvd::optim
