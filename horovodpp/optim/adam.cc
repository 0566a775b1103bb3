// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/adam.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/optim/gradients.h"
#include "horovodpp/optim/vector_updates.h"
#include "horovodpp/tensor/walk.h"

namespace hvd::optim {
namespace {

enum : std::size_t { kStep, kAverage, kAverageSquare, kMaxSquare };

AdamOptions decoupled(const AdamWOptions& options) {
  return {.learning_rate = options.learning_rate,
          .beta1 = options.beta1,
          .beta2 = options.beta2,
          .eps = options.eps,
          .weight_decay = options.weight_decay,
          .amsgrad = options.amsgrad,
          .maximize = options.maximize,
          .decoupled = true};
}

std::vector<ParameterGroup<AdamOptions>> decoupled(
    const std::vector<ParameterGroup<AdamWOptions>>& groups) {
  std::vector<ParameterGroup<AdamOptions>> result;
  for (const auto& [parameters, options] : groups) {
    result.push_back({parameters, decoupled(options)});
  }
  return result;
}

}  // namespace

void AdamOptions::check() const {
  // Written so that NaN fails too.
  const bool valid = learning_rate >= 0 && eps >= 0 && weight_decay >= 0;
  if (!valid) {
    throw InvalidArgument(absl::StrCat("Adam: learning_rate ", learning_rate,
                                       ", eps ", eps, " and weight_decay ",
                                       weight_decay, " must not be negative"));
  }
  const bool in_range = beta1 >= 0 && beta1 < 1 && beta2 >= 0 && beta2 < 1;
  if (!in_range) {
    throw InvalidArgument(absl::StrCat("Adam: beta1 ", beta1, " and beta2 ",
                                       beta2, " must be in [0, 1)"));
  }
}

std::vector<StateSlot> AdamOptions::slots() {
  return {{.name = "step", .is_count = true},
          {.name = "exp_avg"},
          {.name = "exp_avg_sq"},
          {.name = "max_exp_avg_sq", .may_lack = true}};
}

void Adam::move(std::size_t index) {
  const Tensor& parameter = parameters()[index].tensor;
  const ElementRange* const part = part_of(index);
  const AdamOptions& options = options_of(index);
  Slots& state = slots(index);
  refuse_sparse(parameter, "Adam", "use SparseAdam or Adagrad");
  const Tensor grad = parameter.grad();
  if (!grad.defined() || (part != nullptr && part->count() == 0)) return;
  const UpdateTarget target(parameter, part);
  const Tensor gradient = target.alike(grad);
  if (!state[kStep].defined()) {
    state[kStep] = nn::count_tensor(0);
    state[kAverage] = target.zeros();
    state[kAverageSquare] = target.zeros();
  }
  if (options.amsgrad && !state[kMaxSquare].defined()) {
    state[kMaxSquare] = target.zeros();
  }
  const auto steps = static_cast<double>(++*state[kStep].data<std::int64_t>());
  const double decay = options.weight_decay;
  const bool is_decoupled = always_decoupled_ || options.decoupled;
  autograd::visit_any_floating(
      parameter.dtype(), "Adam", [&]<typename T>(TypeTag<T>) {
        update(AdamUpdate<T>{
            .parameter = target.elements().data<T>(),
            .gradient = gradient.data<T>(),
            .average = state[kAverage].data<T>(),
            .average_square = state[kAverageSquare].data<T>(),
            .max_square =
                options.amsgrad ? state[kMaxSquare].data<T>() : nullptr,
            .count = target.elements().num_elements(),
            .shrink = is_decoupled ? 1.0 - options.learning_rate * decay : 1.0,
            .decay = is_decoupled ? 0.0 : decay,
            .beta1 = options.beta1,
            .beta2 = options.beta2,
            .step_size =
                options.learning_rate / (1.0 - std::pow(options.beta1, steps)),
            .root_correction = std::sqrt(1.0 - std::pow(options.beta2, steps)),
            .eps = options.eps,
            .maximize = options.maximize});
      });
  target.finish();
}

AdamW::AdamW(std::vector<nn::NamedTensor> parameters,
             const AdamWOptions& options)
    : AdamW(std::vector<ParameterGroup<AdamWOptions>>{
          {std::move(parameters), options}}) {}

AdamW::AdamW(const std::vector<Tensor>& parameters, const AdamWOptions& options)
    : AdamW(numbered(parameters), options) {}

AdamW::AdamW(const std::vector<ParameterGroup<AdamWOptions>>& groups)
    : Adam(decoupled(groups)) {
  always_decoupled_ = true;
}

}  // namespace hvd::optim
