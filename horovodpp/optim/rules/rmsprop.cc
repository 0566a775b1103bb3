// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/rules/rmsprop.h"

#include <cmath>

#include "horovodpp/optim/rules/element_step.h"

namespace hvd::optim {

void RMSpropOptions::check() const {
  check_options("RMSprop",
                {{"learning_rate", learning_rate},
                 {"eps", eps},
                 {"weight_decay", weight_decay},
                 {"momentum", momentum},
                 {"alpha", alpha}},
                {});
}

std::vector<StateSlot> RMSpropOptions::slots() {
  return {{.name = "step", .is_count = true},
          {.name = "square_avg"},
          {.name = "momentum_buffer", .may_lack = true},
          {.name = "grad_avg", .may_lack = true}};
}

void RMSprop::move(std::size_t index) {
  const RMSpropOptions& o = options_of(index);
  const ElementStep step(parameters()[index].tensor, part_of(index),
                         slots(index), {true, o.momentum > 0, o.centered},
                         "RMSprop");
  if (!step.is_due()) return;
  step.move<3>([&]<typename V>(TypeTag<V>) {
    return [sign = V(o.maximize ? -1 : 1), decay = V(o.weight_decay),
            alpha = V(o.alpha), keep = V(1 - o.alpha), eps = V(o.eps),
            momentum = V(o.momentum), rate = V(o.learning_rate),
            centered = o.centered](V p, V g, V* s) {
      g = sign * g + decay * p;
      s[0] = alpha * s[0] + keep * g * g;
      V variance = s[0];
      if (centered) {
        s[2] += keep * (g - s[2]);
        variance -= s[2] * s[2];
      }
      s[1] = momentum * s[1] + g / (std::sqrt(variance) + eps);
      return p - rate * s[1];
    };
  });
}

void AdadeltaOptions::check() const {
  check_options("Adadelta",
                {{"learning_rate", learning_rate},
                 {"eps", eps},
                 {"weight_decay", weight_decay}},
                {});
  if (rho != 1.0) check_options("Adadelta", {}, {{"rho", rho}});
}

std::vector<StateSlot> AdadeltaOptions::slots() {
  return {{.name = "step", .is_count = true},
          {.name = "square_avg"},
          {.name = "acc_delta"}};
}

void Adadelta::move(std::size_t index) {
  const AdadeltaOptions& o = options_of(index);
  const ElementStep step(parameters()[index].tensor, part_of(index),
                         slots(index), {true, true}, "Adadelta");
  if (!step.is_due()) return;
  step.move<2>([&]<typename V>(TypeTag<V>) {
    return [sign = V(o.maximize ? -1 : 1), decay = V(o.weight_decay),
            rho = V(o.rho), keep = V(1 - o.rho), eps = V(o.eps),
            rate = V(o.learning_rate)](V p, V g, V* s) {
      g = sign * g + decay * p;
      s[0] = rho * s[0] + keep * g * g;
      const V delta = std::sqrt(s[1] + eps) / std::sqrt(s[0] + eps) * g;
      s[1] = rho * s[1] + keep * delta * delta;
      return p - rate * delta;
    };
  });
}

}  // namespace hvd::optim
