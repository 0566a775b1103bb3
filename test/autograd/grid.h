// SPDX-License-Identifier: Apache-2.0
// Checks the derivatives of an operation for inputs of every layout: row-major,
// transposed, with gaps, repeated.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "horovodpp/autograd/gradcheck.h"
#include "test/autograd/support.h"

namespace hvd {

using Inputs = std::vector<Tensor>;
using InputFunction = std::function<Tensor(const Inputs&)>;

enum class Layout { kRows, kTransposed, kGaps, kRepeated };
inline constexpr Layout kLayouts[] = {Layout::kRows, Layout::kTransposed,
                                      Layout::kGaps, Layout::kRepeated};

inline std::string name_of(Layout layout) {
  constexpr const char* kNames[] = {"Rows", "Transposed", "Gaps", "Repeated"};
  return kNames[static_cast<int>(layout)];
}

// The shape of the leaf from which laid_out() makes a tensor of `shape`.
inline autograd::Dims leaf_shape(const autograd::Dims& shape, Layout layout) {
  autograd::Dims result = shape;
  if (shape.empty()) return result;
  if (layout == Layout::kTransposed) {
    for (std::size_t d = 0; d < shape.size(); ++d) {
      result[d] = shape[shape.size() - 1 - d];
    }
  } else if (layout == Layout::kGaps) {
    result[shape.size() - 1] *= 2;
    result[0] += 1;
  } else if (layout == Layout::kRepeated) {
    result[0] = 1;
  }
  return result;
}

inline Tensor laid_out(const Tensor& leaf, const autograd::Dims& shape,
                       Layout layout) {
  if (shape.empty()) return leaf;
  if (layout == Layout::kTransposed) {
    autograd::Dims order;
    for (std::int64_t d = leaf.dim(); d-- > 0;) order.push_back(d);
    return permute(leaf, order);
  }
  if (layout == Layout::kGaps) {
    const Tensor every_other = slice(leaf, -1, 0, leaf.size(-1), 2);
    return narrow(every_other, 0, every_other.size(0) - shape[0], shape[0]);
  }
  if (layout == Layout::kRepeated) return expand(leaf, shape);
  return leaf;
}

struct GridOptions {
  bool positive = false;   // Inputs are above 0.5.
  bool repeated = true;    // Whether the function is smooth at equal elements.
  bool rows_only = false;  // Leaves out other layouts.
  bool second = true;      // Whether to check second derivatives.
  double scale = 1.0;
};

// Compares first and second derivatives of `function` with differences.
inline void check_grid(const InputFunction& function,
                       const std::vector<autograd::Dims>& shapes,
                       const GridOptions& options = {}) {
  for (Layout layout : kLayouts) {
    if (layout == Layout::kRepeated && !options.repeated) continue;
    if (layout != Layout::kRows && options.rows_only) continue;
    SCOPED_TRACE(name_of(layout));
    manual_seed(11);
    Inputs leaves;
    for (const autograd::Dims& shape : shapes) {
      Tensor x = randn(leaf_shape(shape, layout), {.dtype = DType::kF64});
      x = x * options.scale;
      if (options.positive) x = x * x + 0.5;
      leaves.push_back(x.set_requires_grad(true));
    }
    const auto run = [&](const Inputs& x) {
      Inputs inputs;
      for (std::size_t i = 0; i < x.size(); ++i) {
        inputs.push_back(laid_out(x[i], shapes[i], layout));
      }
      return std::vector{function(inputs)};
    };
    EXPECT_NO_THROW(autograd::gradcheck(run, leaves));
    if (!options.second) continue;
    EXPECT_NO_THROW(autograd::gradgradcheck(run, leaves));
  }
}

}  // namespace hvd
