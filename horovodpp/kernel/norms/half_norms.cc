// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/kernel/norms/half_norms.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "horovodpp/kernel/halves.h"
#include "horovodpp/kernel/workers.h"

namespace hvd::autograd {
namespace {

using Floats = std::vector<float>;

// Rows that become float32 at once, about 64 KiB of them.
std::int64_t rows_at_once(const MatrixSize& size) {
  constexpr std::int64_t kElements = 1 << 14;
  return std::max<std::int64_t>(
      1, kElements / std::max<std::int64_t>(size.columns, 1));
}

std::int64_t parts_of(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

constexpr std::int64_t kAnyWorkers = std::numeric_limits<std::int64_t>::max();

// The rows of one thread in float32.
template <typename H>
class Forward {
 public:
  Forward(const MatrixSize& size, const RowNorm<H, float>& s)
      : size_(size),
        s_(s),
        x_(static_cast<std::size_t>(rows_at_once(size) * size.columns)),
        y_(x_.size()) {}

  // Normalizes rows [begin, end).
  void run(std::int64_t begin, std::int64_t end) {
    const std::int64_t at = begin * size_.columns;
    const auto n = static_cast<std::size_t>((end - begin) * size_.columns);
    widen(s_.x + at, x_.data(), n);
    normalize_rows({end - begin, size_.columns},
                   RowNorm<float>{.x = x_.data(),
                                  .weight = s_.weight,
                                  .bias = s_.bias,
                                  .eps = s_.eps,
                                  .y = y_.data(),
                                  .mean = s_.mean + begin,
                                  .rstd = s_.rstd + begin});
    narrow(y_.data(), s_.y + at, n);
  }

 private:
  const MatrixSize& size_;
  const RowNorm<H, float>& s_;
  Floats x_;
  Floats y_;
};

template <typename H>
void forward(const MatrixSize& size, const RowNorm<H, float>& s) {
  const std::int64_t rows = rows_at_once(size);
  run_tasks(
      {.count = parts_of(size.rows, rows), .cost = rows * size.columns},
      kAnyWorkers, [&] { return Forward<H>(size, s); },
      [&](Forward<H>& worker, std::int64_t i) {
        worker.run(i * rows, std::min((i + 1) * rows, size.rows));
      });
}

// The gradients of the parameters from some rows.
struct ParameterSums {
  std::vector<double> weight;
  std::vector<double> bias;
};

template <typename H>
class Backward {
 public:
  Backward(const MatrixSize& size, const RowNormGradient<H, float>& s)
      : size_(size),
        s_(s),
        x_(static_cast<std::size_t>(rows_at_once(size) * size.columns)),
        g_(x_.size()),
        out_(s.x_gradient == nullptr ? 0 : x_.size()),
        weight_(s.weight_gradient == nullptr ? 0 : columns()),
        bias_(s.bias_gradient == nullptr ? 0 : columns()) {}

  // Adds rows [begin, end) to `sums`, and writes their gradients.
  void run(std::int64_t begin, std::int64_t end, ParameterSums& sums) {
    const std::int64_t rows = rows_at_once(size_);
    for (std::int64_t r = begin; r < end; r += rows) {
      run_few(r, std::min(r + rows, end));
      add(weight_, sums.weight);
      add(bias_, sums.bias);
    }
  }

 private:
  std::size_t columns() const {
    return static_cast<std::size_t>(size_.columns);
  }

  void run_few(std::int64_t begin, std::int64_t end) {
    const std::int64_t at = begin * size_.columns;
    const auto n = static_cast<std::size_t>((end - begin) * size_.columns);
    widen(s_.x + at, x_.data(), n);
    widen(s_.g + at, g_.data(), n);
    normalize_rows_backward(
        {end - begin, size_.columns},
        RowNormGradient<float>{
            .x = x_.data(),
            .g = g_.data(),
            .weight = s_.weight,
            .mean = s_.mean + begin,
            .rstd = s_.rstd + begin,
            .x_gradient = out_.empty() ? nullptr : out_.data(),
            .weight_gradient = weight_.empty() ? nullptr : weight_.data(),
            .bias_gradient = bias_.empty() ? nullptr : bias_.data()});
    if (!out_.empty()) narrow(out_.data(), s_.x_gradient + at, n);
  }

  static void add(const std::vector<double>& from, std::vector<double>& to) {
    for (std::size_t c = 0; c < from.size(); ++c) to[c] += from[c];
  }

  const MatrixSize& size_;
  const RowNormGradient<H, float>& s_;
  Floats x_;
  Floats g_;
  Floats out_;
  std::vector<double> weight_;
  std::vector<double> bias_;
};

template <typename H>
void backward(const MatrixSize& size, const RowNormGradient<H, float>& s) {
  // Parts that do not depend on the number of threads, so that neither do the
  // sums.
  constexpr std::int64_t kMostParts = 16;
  const std::int64_t rows = std::max<std::int64_t>(
      rows_at_once(size), parts_of(size.rows, kMostParts));
  const std::int64_t parts = parts_of(size.rows, rows);
  const auto columns = static_cast<std::size_t>(size.columns);
  const ParameterSums none{
      std::vector<double>(s.weight_gradient == nullptr ? 0 : columns),
      std::vector<double>(s.bias_gradient == nullptr ? 0 : columns)};
  std::vector<ParameterSums> sums(static_cast<std::size_t>(parts), none);
  run_tasks(
      {.count = parts, .cost = rows * size.columns}, kAnyWorkers,
      [&] { return Backward<H>(size, s); },
      [&](Backward<H>& worker, std::int64_t i) {
        worker.run(i * rows, std::min((i + 1) * rows, size.rows),
                   sums[static_cast<std::size_t>(i)]);
      });
  ParameterSums total = none;
  for (const ParameterSums& part : sums) {
    for (std::size_t c = 0; c < total.weight.size(); ++c) {
      total.weight[c] += part.weight[c];
    }
    for (std::size_t c = 0; c < total.bias.size(); ++c) {
      total.bias[c] += part.bias[c];
    }
  }
  std::copy(total.weight.begin(), total.weight.end(), s.weight_gradient);
  std::copy(total.bias.begin(), total.bias.end(), s.bias_gradient);
}

}  // namespace

void normalize_rows(const MatrixSize& size, const RowNorm<f16, float>& s) {
  forward(size, s);
}
void normalize_rows(const MatrixSize& size, const RowNorm<bf16, float>& s) {
  forward(size, s);
}
void normalize_rows_backward(const MatrixSize& size,
                             const RowNormGradient<f16, float>& s) {
  backward(size, s);
}
void normalize_rows_backward(const MatrixSize& size,
                             const RowNormGradient<bf16, float>& s) {
  backward(size, s);
}

}  // namespace hvd::autograd
