// SPDX-License-Identifier: Apache-2.0
// One step of a parameter by a rule that moves each element by itself:
//
//   ElementStep step(parameter, part_of(index), slots(index), {true, false},
//                    "Adamax");
//   if (!step.is_due()) return;
//   step.move<2>([&]<typename V>(TypeTag<V>) {
//     return [=](V p, V g, V* state) { …; return p; };
//   });
//
// Slot 0 counts the steps; `state` has the elements of the others, in order. An
// element of an unused slot is 0 and is not kept. 16-bit types are computed in
// float.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/kernel/visit.h"
#include "horovodpp/optim/grouped_optimizer.h"
#include "horovodpp/tensor/map.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::optim {

class ElementStep {
 public:
  // `used` says which slots after the first the rule needs; missing ones become
  // zeros. All arguments outlive the step.
  //   InvalidArgument  the gradient is sparse
  ElementStep(const Tensor& parameter, const ElementRange* part,
              std::vector<Tensor>& slots, const std::vector<bool>& used,
              const char* optimizer);

  // Whether there is a gradient, and an element to move.
  bool is_due() const { return due_; }
  // The number of this step, from 1.
  double steps() const { return steps_; }

  // Moves all elements, `kSlots` being the number of slots after the first.
  template <std::size_t kSlots, typename MakeRule>
  void move(MakeRule make_rule) const {
    const UpdateTarget target(parameter_, part_);
    const Tensor gradient = target.alike(gradient_);
    autograd::visit_any_floating(
        parameter_.dtype(), optimizer_, [&]<typename T>(TypeTag<T>) {
          std::array<T*, kSlots> state{};
          for (std::size_t k = 0; k < kSlots; ++k) {
            if (used_[k]) state[k] = slots_[k + 1].template data<T>();
          }
          loop<T, kSlots>(target.elements().data<T>(), gradient.data<T>(),
                          state, target.elements().num_elements(),
                          make_rule(TypeTag<autograd::Loaded<T>>()));
        });
    target.finish();
  }

 private:
  template <typename T, std::size_t kSlots, typename Rule>
  static void loop(T* parameter, const T* gradient,
                   const std::array<T*, kSlots>& state, std::int64_t count,
                   Rule rule) {
    using Value = autograd::Loaded<T>;
    for (std::int64_t i = 0; i < count; ++i) {
      std::array<Value, kSlots> values{};
      for (std::size_t k = 0; k < kSlots; ++k) {
        if (state[k] != nullptr) values[k] = autograd::loaded(state[k][i]);
      }
      parameter[i] = autograd::stored<T>(rule(autograd::loaded(parameter[i]),
                                              autograd::loaded(gradient[i]),
                                              values.data()));
      for (std::size_t k = 0; k < kSlots; ++k) {
        if (state[k] != nullptr) state[k][i] = autograd::stored<T>(values[k]);
      }
    }
  }

  const Tensor& parameter_;
  const ElementRange* const part_;
  std::vector<Tensor>& slots_;
  const std::vector<bool> used_;
  const char* const optimizer_;
  Tensor gradient_;
  bool due_ = false;
  double steps_ = 0.0;
};

// Numbers of an optimizer's options, by name.
using NamedNumbers = std::vector<std::pair<const char*, double>>;

//   InvalidArgument  a number is negative or NaN; or, in the second list, not
//                    in [0, 1)
void check_options(const char* optimizer, const NamedNumbers& at_least_zero,
                   const NamedNumbers& below_one);

}  // namespace hvd::optim
