// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/adagrad.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/optim/gradients.h"
#include "horovodpp/tensor/map.h"

namespace hvd::optim {
namespace {

enum : std::size_t { kAdagradStep, kSquares };

// Updates `count` elements that are contiguous in memory.
struct Rates {
  double rate = 0.0;
  double decay = 0.0;
  double eps = 0.0;
  double sign = 1.0;  // Of the gradient.

  template <typename T>
  void update(T* parameter, const T* gradient, T* squares,
              std::int64_t count) const {
    using Value = autograd::Loaded<T>;
    for (std::int64_t i = 0; i < count; ++i) {
      const Value p = autograd::loaded(parameter[i]);
      Value g = static_cast<Value>(sign) * autograd::loaded(gradient[i]);
      if (decay != 0.0) g += static_cast<Value>(decay) * p;
      const Value s = autograd::loaded(squares[i]) + g * g;
      squares[i] = autograd::stored<T>(s);
      parameter[i] = autograd::stored<T>(
          p - static_cast<Value>(rate) *
                  (g / (std::sqrt(s) + static_cast<Value>(eps))));
    }
  }
};

}  // namespace

void AdagradOptions::check() const {
  // Written so that NaN fails too.
  const bool valid = learning_rate >= 0 && learning_rate_decay >= 0 &&
                     weight_decay >= 0 && initial_accumulator_value >= 0 &&
                     eps >= 0;
  if (valid) return;
  throw InvalidArgument(absl::StrCat(
      "Adagrad: learning_rate ", learning_rate, ", learning_rate_decay ",
      learning_rate_decay, ", weight_decay ", weight_decay,
      ", initial_accumulator_value ", initial_accumulator_value, " and eps ",
      eps, " must not be negative"));
}

std::vector<StateSlot> AdagradOptions::slots() {
  return {{.name = "step", .is_count = true}, {.name = "sum"}};
}

void Adagrad::move(std::size_t index) {
  const Tensor& parameter = parameters()[index].tensor;
  const AdagradOptions& options = options_of(index);
  Slots& state = slots(index);
  const bool is_sparse = autograd::has_sparse_grad(parameter);
  if (!autograd::kept_gradient(parameter).defined()) return;
  if (options.weight_decay != 0) {
    refuse_sparse(parameter, "Adagrad with weight decay", "leave it out");
  }
  const UpdateTarget target(parameter);
  if (!state[kAdagradStep].defined()) {
    state[kAdagradStep] = nn::count_tensor(0);
    state[kSquares] = target.zeros();
    state[kSquares].fill_(options.initial_accumulator_value);
  }
  const auto before =
      static_cast<double>((*state[kAdagradStep].data<std::int64_t>())++);
  const Rates rates = {.rate = options.learning_rate /
                               (1.0 + before * options.learning_rate_decay),
                       .decay = options.weight_decay,
                       .eps = options.eps,
                       .sign = options.maximize ? -1.0 : 1.0};
  autograd::visit_any_floating(
      parameter.dtype(), "Adagrad", [&]<typename T>(TypeTag<T>) {
        T* const squares = state[kSquares].data<T>();
        T* const elements = target.elements().data<T>();
        if (!is_sparse) {
          const Tensor gradient = target.alike(parameter.grad());
          rates.update(elements, gradient.data<T>(), squares,
                       parameter.num_elements());
          return;
        }
        for_rows<T>(rows_to_move(parameter, "Adagrad"),
                    [&](std::int64_t offset, const T* row, std::int64_t width) {
                      rates.update(elements + offset, row, squares + offset,
                                   width);
                    });
      });
  target.finish();
}

}  // namespace hvd::optim
