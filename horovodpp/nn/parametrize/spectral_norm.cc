// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/parametrize/spectral_norm.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/record/effects.h"
#include "horovodpp/core/error.h"
#include "horovodpp/nn/parametrization.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/reductions/statistics_ops.h"
#include "horovodpp/ops/shapes/contractions.h"
#include "horovodpp/ops/shapes/views.h"
#include "horovodpp/tensor/base/thread_state.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::nn {
namespace {

struct Vectors {
  Tensor left;
  Tensor right;
};

Tensor of_length_one(const Tensor& x, double eps) {
  return div(x, std::max(vector_norm(x).to(DType::kF64).item<double>(), eps));
}

// The buffers, under PyTorch's names "0._u" and "0._v".
class SingularVectors : public Module {
 public:
  SingularVectors(std::int64_t rows, std::int64_t columns, DType dtype)
      : left_(register_buffer("_u", randn({rows}).to(dtype))),
        right_(register_buffer("_v", randn({columns}).to(dtype))) {}

  // Not called: it holds buffers.
  Tensor forward(const Tensor& input) override { return input; }

  void improve(const Tensor& matrix, std::int64_t iterations, double eps) {
    for (std::int64_t i = 0; i < iterations; ++i) {
      left_.copy_(of_length_one(mv(matrix, right_), eps));
      right_.copy_(of_length_one(mv(matrix.t(), left_), eps));
    }
  }

  // Copies: a later forward may precede this one's backward.
  Vectors vectors() const { return {left_.clone(), right_.clone()}; }

 private:
  Tensor left_;
  Tensor right_;
};

class SpectralNorm : public Parametrization {
 public:
  SpectralNorm(const Tensor& weight, const SpectralNormOptions& options)
      : options_(options) {
    const std::int64_t rank = weight.dim();
    if (options.power_iterations <= 0 || rank < 2 || options.dim < -rank ||
        options.dim >= rank) {
      throw InvalidArgument(
          absl::StrCat("spectral_norm: ", options.power_iterations,
                       " iterations along dimension ", options.dim, " of ",
                       weight.describe(),
                       "; wanted are at least one iteration and a matrix"));
    }
    register_parameter("original", weight);
    NoGrad no_grad;
    const Tensor matrix = matrix_of(weight);
    state_ = register_module(
        "0", std::make_shared<SingularVectors>(matrix.size(0), matrix.size(1),
                                               weight.dtype()));
    state_->improve(matrix, kFirstIterations, options.eps);
  }

  Tensor forward(const Tensor& weight) override {
    const Tensor matrix = matrix_of(weight);
    // A recomputation needs the vectors of the first run.
    const Vectors found = run_once([&] {
      NoGrad no_grad;
      if (is_training()) {
        state_->improve(matrix.detach(), options_.power_iterations,
                        options_.eps);
      }
      return state_->vectors();
    });
    return div(weight, dot(found.left, mv(matrix, found.right)));
  }

 private:
  static constexpr std::int64_t kFirstIterations = 15;

  Tensor matrix_of(const Tensor& weight) const {
    return flatten(movedim(weight, {options_.dim}, {0}), 1);
  }

  const SpectralNormOptions options_;
  std::shared_ptr<SingularVectors> state_;
};

}  // namespace

void spectral_norm(Module& module, const SpectralNormOptions& options) {
  const Tensor weight = Parametrization::weight_of(module, options.name);
  Parametrization::attach(module, options.name,
                          std::make_shared<SpectralNorm>(weight, options));
}

}  // namespace hvd::nn
