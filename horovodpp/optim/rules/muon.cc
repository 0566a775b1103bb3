// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/rules/muon.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/matmul_ops.h"
#include "horovodpp/ops/reduce_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/optim/gradients.h"
#include "horovodpp/optim/rules/element_step.h"

namespace hvd::optim {
namespace {

// Its coefficients raise small singular values fastest; they need not converge.
Tensor orthogonal(const Tensor& matrix, const MuonOptions& options) {
  const bool tall = matrix.size(0) > matrix.size(1);
  Tensor x =
      to(matrix, matrix.dtype() == DType::kF64 ? DType::kF64 : DType::kF32);
  if (tall) x = x.t();
  const double norm = std::sqrt(autograd::sum_of_squares(x));
  x = x * (1.0 / std::max(norm, options.eps));
  for (int i = 0; i < static_cast<int>(options.iterations); ++i) {
    const Tensor gram = matmul(x, x.t());
    const Tensor update =
        addmm(gram, gram, gram, {.beta = -4.7750, .alpha = 2.0315});
    x = addmm(x, update, x, {.beta = 3.4445});
  }
  return tall ? x.t() : x;
}

double rate_of(const Tensor& matrix, const MuonOptions& options) {
  const auto rows = static_cast<double>(matrix.size(0));
  const auto columns = static_cast<double>(matrix.size(1));
  return options.learning_rate *
         (options.match_adamw ? 0.2 * std::sqrt(std::max(rows, columns))
                              : std::sqrt(std::max(1.0, rows / columns)));
}

}  // namespace

void MuonOptions::check() const {
  check_options("Muon",
                {{"learning_rate", learning_rate},
                 {"weight_decay", weight_decay},
                 {"momentum", momentum},
                 {"eps", eps},
                 {"iterations", iterations}},
                {});
  if (iterations < 100 && iterations == std::floor(iterations)) return;
  throw InvalidArgument(absl::StrCat("Muon: iterations is ", iterations,
                                     "; wanted is a whole number below 100"));
}

std::vector<StateSlot> MuonOptions::slots() {
  return {{.name = "momentum_buffer"}};
}

Muon::Muon(std::vector<ParameterGroup<MuonOptions>> groups)
    : GroupedOptimizer<MuonOptions>(std::move(groups)) {
  for (const auto& [name, tensor] : parameters()) {
    if (tensor.dim() == 2) continue;
    throw InvalidArgument(absl::StrCat("Muon: '", name, "' is ",
                                       tensor.describe(),
                                       ", no matrix; give it to AdamW"));
  }
}

Muon::Muon(std::vector<nn::NamedTensor> parameters, const MuonOptions& options)
    : Muon(std::vector<ParameterGroup<MuonOptions>>{
          {std::move(parameters), options}}) {}

Muon::Muon(const std::vector<Tensor>& parameters, const MuonOptions& options)
    : Muon(numbered(parameters), options) {}

void Muon::move(std::size_t index) {
  const MuonOptions& o = options_of(index);
  const Tensor& parameter = parameters()[index].tensor;
  refuse_sparse(parameter, "Muon", "use SparseAdam or Adagrad");
  const Tensor gradient = parameter.grad();
  if (!gradient.defined() || parameter.num_elements() == 0) return;
  Tensor& buffer = slots(index)[0];
  if (!buffer.defined()) buffer = UpdateTarget(parameter).zeros();
  buffer.mul_(o.momentum).add_(gradient, 1 - o.momentum);
  const Tensor along =
      o.nesterov ? gradient * (1 - o.momentum) + buffer * o.momentum : buffer;
  const Tensor step = to(orthogonal(along, o), parameter.dtype());
  parameter.mul_(1 - o.learning_rate * o.weight_decay);
  parameter.add_(step, -rate_of(parameter, o));
}

}  // namespace hvd::optim
