// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/rules/layerwise.h"

#include <cmath>

#include "horovodpp/ops/reduce_ops.h"
#include "horovodpp/optim/rules/element_step.h"

namespace hvd::optim {
namespace {

double norm_of(const Tensor& x) {
  return std::sqrt(autograd::sum_of_squares(x));
}

double quotient(double a, double b) { return a > 0 && b > 0 ? a / b : 1.0; }

}  // namespace

void LAMBOptions::check() const {
  check_options("LAMB",
                {{"learning_rate", learning_rate},
                 {"eps", eps},
                 {"weight_decay", weight_decay}},
                {{"beta1", beta1}, {"beta2", beta2}});
}

std::vector<StateSlot> LAMBOptions::slots() {
  return {{.name = "step", .is_count = true},
          {.name = "exp_avg"},
          {.name = "exp_avg_sq"}};
}

// The moments move first, with the norm of the direction; then the parameter.
void LAMB::move(std::size_t index) {
  const LAMBOptions& o = options_of(index);
  const Tensor& parameter = parameters()[index].tensor;
  const ElementStep step(parameter, nullptr, slots(index), {true, true},
                         "LAMB");
  if (!step.is_due()) return;
  const double correction1 = 1 - std::pow(o.beta1, step.steps());
  const double correction2 = 1 - std::pow(o.beta2, step.steps());
  const double length = norm_of(parameter);
  double squares = 0;
  const auto direction = [&]<typename V>(TypeTag<V>) {
    return [c1 = V(correction1), c2 = V(correction2), eps = V(o.eps),
            decay = V(o.weight_decay)](V p, const V* s) {
      return s[0] / c1 / (std::sqrt(s[1] / c2) + eps) + decay * p;
    };
  };
  step.move<2>([&]<typename V>(TypeTag<V> tag) {
    return [sign = V(o.maximize ? -1 : 1), keep1 = V(1 - o.beta1),
            beta2 = V(o.beta2), keep2 = V(1 - o.beta2), to = direction(tag),
            &squares](V p, V g, V* s) {
      g *= sign;
      s[0] += keep1 * (g - s[0]);
      s[1] = beta2 * s[1] + keep2 * g * g;
      const auto r = static_cast<double>(to(p, s));
      squares += r * r;
      return p;
    };
  });
  const double rate = o.learning_rate * quotient(length, std::sqrt(squares));
  step.move<2>([&]<typename V>(TypeTag<V> tag) {
    return [by = V(rate), to = direction(tag)](V p, V, V* s) {
      return p - by * to(p, s);
    };
  });
}

void LARSOptions::check() const {
  check_options("LARS",
                {{"learning_rate", learning_rate},
                 {"momentum", momentum},
                 {"trust", trust},
                 {"eps", eps},
                 {"weight_decay", weight_decay}},
                {});
}

std::vector<StateSlot> LARSOptions::slots() {
  return {{.name = "step", .is_count = true}, {.name = "momentum_buffer"}};
}

void LARS::move(std::size_t index) {
  const LARSOptions& o = options_of(index);
  const Tensor& parameter = parameters()[index].tensor;
  const ElementStep step(parameter, nullptr, slots(index), {true}, "LARS");
  if (!step.is_due()) return;
  const double length = norm_of(parameter);
  const double slope = norm_of(parameter.grad());
  const double trust =
      length > 0 && slope > 0
          ? o.trust * length / (slope + o.weight_decay * length + o.eps)
          : 1.0;
  step.move<1>([&]<typename V>(TypeTag<V>) {
    return [sign = V(o.maximize ? -1 : 1), decay = V(o.weight_decay),
            momentum = V(o.momentum), by = V(trust),
            rate = V(o.learning_rate)](V p, V g, V* s) {
      s[0] = momentum * s[0] + by * (sign * g + decay * p);
      return p - rate * s[0];
    };
  });
}

}  // namespace hvd::optim
