// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/rules/adam_variants.h"

#include <algorithm>
#include <cmath>

#include "horovodpp/optim/rules/element_step.h"

namespace hvd::optim {
namespace {

// The gradient with its sign and weight decay, and the parameter after
// decoupled weight decay.
template <typename V>
struct Decay {
  template <typename Options>
  Decay(const Options& o, bool decoupled)
      : sign(o.maximize ? V(-1) : V(1)),
        coupled(decoupled ? V(0) : V(o.weight_decay)),
        shrink(decoupled ? V(1 - o.learning_rate * o.weight_decay) : V(1)) {}

  V sign;
  V coupled;
  V shrink;

  void apply(V& p, V& g) const {
    g = sign * g + coupled * p;
    p *= shrink;
  }
};

// The running means of g and g^2.
template <typename V>
struct Moments {
  Moments(double beta1, double beta2)
      : keep1(V(1 - beta1)), decay2(V(beta2)), keep2(V(1 - beta2)) {}

  V keep1;
  V decay2;
  V keep2;

  void add(V g, V* s) const {
    s[0] += keep1 * (g - s[0]);
    s[1] = decay2 * s[1] + keep2 * g * g;
  }
};

template <typename Options>
void check_adam_like(const char* name, const Options& o) {
  check_options(
      name,
      {{"learning_rate", o.learning_rate}, {"weight_decay", o.weight_decay}},
      {{"beta1", o.beta1}, {"beta2", o.beta2}});
}

double nesterov_beta(const NAdamOptions& o, double step) {
  return o.beta1 * (1 - 0.5 * std::pow(0.96, step * o.momentum_decay));
}

// The factor of Adam's direction in RAdam; 0: the variance is not finite yet.
double rectification(const RAdamOptions& o, double steps) {
  const double power = std::pow(o.beta2, steps);
  const double longest = 2 / (1 - o.beta2) - 1;
  const double length = longest - 2 * steps * power / (1 - power);
  if (length <= 5) return 0.0;
  return std::sqrt((length - 4) * (length - 2) * longest /
                   ((longest - 4) * (longest - 2) * length));
}

}  // namespace

void AdamaxOptions::check() const {
  check_adam_like("Adamax", *this);
  check_options("Adamax", {{"eps", eps}}, {});
}

std::vector<StateSlot> AdamaxOptions::slots() {
  return {{.name = "step", .is_count = true},
          {.name = "exp_avg"},
          {.name = "exp_inf"}};
}

void Adamax::move(std::size_t index) {
  const AdamaxOptions& o = options_of(index);
  const ElementStep step(parameters()[index].tensor, part_of(index),
                         slots(index), {true, true}, "Adamax");
  if (!step.is_due()) return;
  const double rate = o.learning_rate / (1 - std::pow(o.beta1, step.steps()));
  step.move<2>([&]<typename V>(TypeTag<V>) {
    return [decay = Decay<V>(o, false), keep = V(1 - o.beta1),
            beta2 = V(o.beta2), eps = V(o.eps), by = V(rate)](V p, V g, V* s) {
      decay.apply(p, g);
      s[0] += keep * (g - s[0]);
      s[1] = std::max(beta2 * s[1], std::abs(g) + eps);
      return p - by * (s[0] / s[1]);
    };
  });
}

void NAdamOptions::check() const {
  check_adam_like("NAdam", *this);
  check_options("NAdam", {{"eps", eps}, {"momentum_decay", momentum_decay}},
                {});
}

std::vector<StateSlot> NAdamOptions::slots() {
  return {{.name = "step", .is_count = true},
          {.name = "exp_avg"},
          {.name = "exp_avg_sq"}};
}

// Continues the product of the step before; else starts at 1.
double NAdam::product(std::size_t index, std::int64_t steps) {
  if (products_.empty()) products_.resize(parameters().size());
  Product& known = products_[index];
  if (known.steps >= steps) known = Product();
  while (known.steps < steps) {
    ++known.steps;
    known.value *=
        nesterov_beta(options_of(index), static_cast<double>(known.steps));
  }
  return known.value;
}

void NAdam::move(std::size_t index) {
  const NAdamOptions& o = options_of(index);
  const ElementStep step(parameters()[index].tensor, part_of(index),
                         slots(index), {true, true}, "NAdam");
  if (!step.is_due()) return;
  const double t = step.steps();
  const double all = product(index, static_cast<std::int64_t>(t));
  const double next = nesterov_beta(o, t + 1);
  const double by_gradient =
      o.learning_rate * (1 - nesterov_beta(o, t)) / (1 - all);
  const double by_mean = o.learning_rate * next / (1 - all * next);
  const double correction = 1 - std::pow(o.beta2, t);
  step.move<2>([&]<typename V>(TypeTag<V>) {
    return [decay = Decay<V>(o, o.decoupled_weight_decay),
            moments = Moments<V>(o.beta1, o.beta2), a = V(by_gradient),
            b = V(by_mean), c = V(correction), eps = V(o.eps)](V p, V g, V* s) {
      decay.apply(p, g);
      moments.add(g, s);
      const V divisor = std::sqrt(s[1] / c) + eps;
      return p - a * (g / divisor) - b * (s[0] / divisor);
    };
  });
}

void RAdamOptions::check() const {
  check_adam_like("RAdam", *this);
  check_options("RAdam", {{"eps", eps}}, {});
}

std::vector<StateSlot> RAdamOptions::slots() { return NAdamOptions::slots(); }

void RAdam::move(std::size_t index) {
  const RAdamOptions& o = options_of(index);
  const ElementStep step(parameters()[index].tensor, part_of(index),
                         slots(index), {true, true}, "RAdam");
  if (!step.is_due()) return;
  const double t = step.steps();
  const double rate = o.learning_rate / (1 - std::pow(o.beta1, t));
  const double rectified = rectification(o, t);
  const double root = rate * rectified * std::sqrt(1 - std::pow(o.beta2, t));
  step.move<2>([&]<typename V>(TypeTag<V>) {
    return
        [decay = Decay<V>(o, o.decoupled_weight_decay),
         moments = Moments<V>(o.beta1, o.beta2), plain = V(rate), by = V(root),
         eps = V(o.eps), adaptive = rectified > 0](V p, V g, V* s) {
          decay.apply(p, g);
          moments.add(g, s);
          const V factor = adaptive ? by / (std::sqrt(s[1]) + eps) : plain;
          return p - s[0] * factor;
        };
  });
}

void LionOptions::check() const { check_adam_like("Lion", *this); }

std::vector<StateSlot> LionOptions::slots() {
  return {{.name = "step", .is_count = true}, {.name = "exp_avg"}};
}

void Lion::move(std::size_t index) {
  const LionOptions& o = options_of(index);
  const ElementStep step(parameters()[index].tensor, part_of(index),
                         slots(index), {true}, "Lion");
  if (!step.is_due()) return;
  step.move<1>([&]<typename V>(TypeTag<V>) {
    return [decay = Decay<V>(o, true), beta1 = V(o.beta1),
            keep1 = V(1 - o.beta1), beta2 = V(o.beta2), keep2 = V(1 - o.beta2),
            rate = V(o.learning_rate)](V p, V g, V* s) {
      decay.apply(p, g);
      const V direction = beta1 * s[0] + keep1 * g;
      s[0] = beta2 * s[0] + keep2 * g;
      return p - rate * V((direction > V(0)) - (direction < V(0)));
    };
  });
}

}  // namespace hvd::optim
