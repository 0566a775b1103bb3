// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/reduce/adasum.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace hvd::collective {

namespace {

// Independent sums, so that an addition need not wait for the one before.
constexpr std::int64_t kLanes = 8;
using Lanes = std::array<double, kLanes>;

// Squares of floats are safe in a double.
std::int32_t exponent_of(const float*, std::int64_t) { return 0; }

std::int32_t exponent_of(const double* values, std::int64_t count) {
  double largest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    largest = std::max(largest, std::abs(values[i]));
  }
  if (!std::isfinite(largest)) return 0;
  if (largest == 0) return PairProducts::kLowestExponent;
  constexpr int kLowest = PairProducts::kLowestExponent;
  return std::clamp(std::ilogb(largest), kLowest, -kLowest);
}

double total(const Lanes& lanes) {
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

template <typename A>
PairProducts measure(const A* a, const A* b, std::int64_t count) {
  PairProducts products = {.a_exponent = exponent_of(a, count),
                           .b_exponent = exponent_of(b, count)};
  const double a_unit = std::ldexp(1.0, -products.a_exponent);
  const double b_unit = std::ldexp(1.0, -products.b_exponent);
  Lanes ab = {};
  Lanes aa = {};
  Lanes bb = {};
  const auto add = [&](std::size_t lane, std::int64_t i) {
    const double x = static_cast<double>(a[i]) * a_unit;
    const double y = static_cast<double>(b[i]) * b_unit;
    ab[lane] += x * y;
    aa[lane] += x * x;
    bb[lane] += y * y;
  };
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      add(static_cast<std::size_t>(lane), i + lane);
    }
  }
  for (std::size_t lane = 0; i < count; ++i, ++lane) add(lane, i);
  products.ab = total(ab);
  products.aa = total(aa);
  products.bb = total(bb);
  return products;
}

// A vector is multiplied by `unit`, then by `factor`.
struct Weight {
  double unit = 1;
  double factor = 1;
};

// The weight of the vector with the square `own`, next to another one.
Weight weight_of(double ab, double own, int exponent, int other_exponent) {
  if (own == 0) return {};
  const double ratio = ab / (2 * own);
  const double shrink = std::ldexp(ratio, other_exponent - exponent);
  if (std::isfinite(shrink) || !std::isfinite(ratio)) {
    return {.factor = 1 - shrink};
  }
  // A tiny vector next to a huge one: the factor alone would overflow.
  return {
      .unit = std::ldexp(1.0, -exponent),
      .factor = std::ldexp(1.0, exponent) - std::ldexp(ratio, other_exponent)};
}

template <typename A>
void weigh(const A* a, const A* b, A* result, std::int64_t count,
           const PairProducts& products) {
  const Weight of_a = weight_of(products.ab, products.aa, products.a_exponent,
                                products.b_exponent);
  const Weight of_b = weight_of(products.ab, products.bb, products.b_exponent,
                                products.a_exponent);
  for (std::int64_t i = 0; i < count; ++i) {
    const double x = static_cast<double>(a[i]) * of_a.unit * of_a.factor;
    const double y = static_cast<double>(b[i]) * of_b.unit * of_b.factor;
    result[i] = static_cast<A>(x + y);
  }
}

double rescaled(double value, std::int32_t from, std::int32_t to) {
  return from == to ? value : std::ldexp(value, from - to);
}

}  // namespace

PairProducts products_of(DType dtype, const void* a, const void* b,
                         std::int64_t count) {
  if (dtype == DType::kF64) {
    return measure(static_cast<const double*>(a), static_cast<const double*>(b),
                   count);
  }
  return measure(static_cast<const float*>(a), static_cast<const float*>(b),
                 count);
}

PairProducts sum_of(const PairProducts& left, const PairProducts& right) {
  const std::int32_t a = std::max(left.a_exponent, right.a_exponent);
  const std::int32_t b = std::max(left.b_exponent, right.b_exponent);
  PairProducts sum = {.a_exponent = a, .b_exponent = b};
  for (const PairProducts* part : {&left, &right}) {
    const std::int32_t of_a = part->a_exponent;
    const std::int32_t of_b = part->b_exponent;
    sum.ab += rescaled(part->ab, of_a + of_b, a + b);
    sum.aa += rescaled(part->aa, 2 * of_a, 2 * a);
    sum.bb += rescaled(part->bb, 2 * of_b, 2 * b);
  }
  return sum;
}

void merge_pair(DType dtype, const void* a, const void* b, void* result,
                std::int64_t count, const PairProducts& products) {
  if (dtype == DType::kF64) {
    weigh(static_cast<const double*>(a), static_cast<const double*>(b),
          static_cast<double*>(result), count, products);
  } else {
    weigh(static_cast<const float*>(a), static_cast<const float*>(b),
          static_cast<float*>(result), count, products);
  }
}

std::size_t adasum_round_length(std::span<const Piece> tensors, DType dtype,
                                std::size_t round_bytes) {
  const std::size_t each = std::max(sizeof(float), size_of(dtype));
  std::size_t bytes = 0;
  std::size_t length = 0;
  for (; length < tensors.size(); ++length) {
    bytes += static_cast<std::size_t>(tensors[length].count) * each;
    if (bytes > round_bytes && length > 0) break;
  }
  return length;
}

AdasumRow::AdasumRow(std::span<const Piece> tensors, int parts,
                     std::size_t element_bytes) {
  std::int64_t at = 0;
  for (int part = 0; part < parts; ++part) {
    begins_.push_back(at);
    first_run_.push_back(pieces_.size());
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      const Piece& tensor = tensors[t];
      const std::int64_t even = tensor.count / parts;
      const std::int64_t longer = tensor.count % parts;
      const std::int64_t count = even + (part < longer ? 1 : 0);
      if (count == 0) continue;
      const std::int64_t skipped =
          part * even + std::min<std::int64_t>(part, longer);
      const std::size_t bytes =
          static_cast<std::size_t>(skipped) * element_bytes;
      pieces_.push_back(
          {.input = static_cast<const std::byte*>(tensor.input) + bytes,
           .output = static_cast<std::byte*>(tensor.output) + bytes,
           .count = count});
      tensors_.push_back(t);
      at += count;
    }
  }
  begins_.push_back(at);
  first_run_.push_back(pieces_.size());
}

}  // namespace hvd::collective
