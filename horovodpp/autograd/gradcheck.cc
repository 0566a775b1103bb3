// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/autograd/gradcheck.h"

#include <cmath>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/engine.h"
#include "horovodpp/autograd/graph/error.h"
#include "horovodpp/tensor/base/generator.h"
#include "horovodpp/tensor/base/thread_state.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::autograd {
namespace {

// Jacobian[output][output element][input][input element].
using Row = std::vector<std::vector<double>>;
using Jacobian = std::vector<std::vector<Row>>;

std::vector<Tensor> differentiable(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> result;
  for (const Tensor& input : inputs) {
    if (!input.requires_grad()) continue;
    if (input.dtype() != DType::kF64 || !input.is_contiguous() ||
        !input.is_leaf()) {
      throw InvalidArgument(absl::StrCat(
          "gradcheck: an input is ", input.describe(),
          "; differences mean something for contiguous float64 leaves only"));
    }
    result.push_back(input);
  }
  if (result.empty()) {
    throw InvalidArgument("gradcheck: no input requires grad");
  }
  return result;
}

Tensor one_hot(const Tensor& like, std::int64_t element) {
  Tensor result = zeros_like(like);
  result.data<double>()[element] = 1.0;
  return result;
}

Jacobian analytical(const std::vector<Tensor>& outputs,
                    const std::vector<Tensor>& inputs) {
  Jacobian result;
  for (const Tensor& output : outputs) {
    auto& rows = result.emplace_back();
    for (std::int64_t j = 0; j < output.num_elements(); ++j) {
      Row& row = rows.emplace_back();
      std::vector<Tensor> gradients;
      if (output.requires_grad()) {
        gradients = grad({output}, inputs, {one_hot(output, j)},
                         {.retain_graph = true, .materialize_grads = true});
      }
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        const Tensor gradient =
            gradients.empty() ? zeros_like(inputs[i]) : gradients[i];
        row.push_back(gradient.to_vector<double>());
      }
    }
  }
  return result;
}

// The values of all outputs with element `e` of `input` shifted by `step`.
std::vector<std::vector<double>> values_near(
    const DifferentiableFunction& function, const std::vector<Tensor>& all,
    const Tensor& input, std::int64_t e, double step) {
  double& element = input.data<double>()[e];
  const double before = element;
  element = before + step;
  std::vector<std::vector<double>> values;
  for (const Tensor& output : function(all)) {
    values.push_back(output.to_vector<double>());
  }
  element = before;
  return values;
}

void check_entry(double found, double wanted, const GradcheckOptions& options,
                 const std::string& where) {
  const double allowed = options.absolute_tolerance +
                         options.relative_tolerance * std::abs(wanted);
  // Written so that NaN fails.
  if (std::abs(found - wanted) <= allowed) return;
  throw AutogradError(absl::StrCat("gradcheck: ", where,
                                   " differ: the graph says ", found,
                                   ", the difference of values ", wanted));
}

}  // namespace

void gradcheck(const DifferentiableFunction& function,
               const std::vector<Tensor>& inputs,
               const GradcheckOptions& options) {
  EnableGrad enable_grad;
  const std::vector<Tensor> leaves = differentiable(inputs);
  const std::vector<Tensor> outputs = function(inputs);
  const Jacobian jacobian = analytical(outputs, leaves);
  if (jacobian != analytical(outputs, leaves)) {
    throw AutogradError(
        "gradcheck: two backward runs differ; the formula is not "
        "deterministic, or NaN");
  }
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    for (std::int64_t e = 0; e < leaves[i].num_elements(); ++e) {
      const auto above =
          values_near(function, inputs, leaves[i], e, options.step);
      const auto below =
          values_near(function, inputs, leaves[i], e, -options.step);
      for (std::size_t o = 0; o < outputs.size(); ++o) {
        for (std::size_t j = 0; j < above[o].size(); ++j) {
          check_entry(jacobian[o][j][i][static_cast<std::size_t>(e)],
                      (above[o][j] - below[o][j]) / (2 * options.step), options,
                      absl::StrCat("the derivatives of output ", o, " element ",
                                   j, " by input ", i, " element ", e));
        }
      }
    }
  }
}

void gradgradcheck(const DifferentiableFunction& function,
                   const std::vector<Tensor>& inputs,
                   const GradcheckOptions& options) {
  EnableGrad enable_grad;
  std::vector<Tensor> all = inputs;
  Generator generator;
  for (const Tensor& output : function(inputs)) {
    Tensor direction = empty(output.shape(), {.dtype = DType::kF64});
    generator.normal(
        std::span<double>(direction.data<double>(),
                          static_cast<std::size_t>(direction.num_elements())));
    all.push_back(direction.set_requires_grad(true));
  }
  const std::size_t count = inputs.size();
  const auto gradients = [&](const std::vector<Tensor>& args) {
    const auto middle = args.begin() + static_cast<std::ptrdiff_t>(count);
    const std::vector<Tensor> points(args.begin(), middle);
    const std::vector<Tensor> directions(middle, args.end());
    return grad(function(points), differentiable(points), directions,
                {.create_graph = true, .materialize_grads = true});
  };
  gradcheck(gradients, all, options);
}

}  // namespace hvd::autograd
