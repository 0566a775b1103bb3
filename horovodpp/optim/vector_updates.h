// SPDX-License-Identifier: Apache-2.0
// The inner loops of optimizers: one step of one parameter, in one pass over
// its memory, in vectors. All arrays have `count` elements and the same layout.
// Products and sums are rounded one by one, so results do not depend on the
// processor: equal ranks stay equal.
//
// T is float, double, f16 or bf16; the last two are computed in float.
#pragma once

#include <cstdint>

#include "horovodpp/core/half.h"

namespace hvd::optim {

//   g = ±gradient + decay p;  b = mu b + keep g;
//   p -= rate (nesterov ? g + look_ahead b : b)      without momentum: rate g
template <typename T>
struct SgdUpdate {
  T* parameter = nullptr;
  const T* gradient = nullptr;
  T* momentum = nullptr;  // Null: none.
  std::int64_t count = 0;
  double rate = 0.0;
  double decay = 0.0;
  double mu = 0.0;
  double keep = 1.0;
  double look_ahead = 0.0;
  bool nesterov = false;
  bool maximize = false;
};

//   p *= shrink;  g = ±gradient + decay p;
//   m += (1 - beta1) (g - m);  v = beta2 v + (1 - beta2) g^2;  x = max(x, v);
//   p -= step_size m / (sqrt(x or v) / root_correction + eps)
template <typename T>
struct AdamUpdate {
  T* parameter = nullptr;
  const T* gradient = nullptr;
  T* average = nullptr;         // m
  T* average_square = nullptr;  // v
  T* max_square = nullptr;      // x; null: without.
  std::int64_t count = 0;
  double shrink = 1.0;
  double decay = 0.0;
  double beta1 = 0.0;
  double beta2 = 0.0;
  double step_size = 0.0;
  double root_correction = 1.0;
  double eps = 0.0;
  bool maximize = false;
};

template <typename T>
void update(const SgdUpdate<T>& step);
template <typename T>
void update(const AdamUpdate<T>& step);

// The sum of the squares of `count` elements, as double.
template <typename T>
double sum_of_squares(const T* elements, std::int64_t count);

// Multiplies all elements.
template <typename T>
void scale(T* elements, std::int64_t count, double factor);

}  // namespace hvd::optim
