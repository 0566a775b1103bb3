// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/parametrize/weight_norm.h"

#include <memory>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/nn/parametrization.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/reductions/statistics_ops.h"
#include "horovodpp/tensor/base/dims.h"
#include "horovodpp/tensor/base/thread_state.h"

namespace hvd::nn {
namespace {

class WeightNorm : public Parametrization {
 public:
  WeightNorm(const Tensor& weight, std::optional<std::int64_t> dim) {
    if (dim) {
      const std::int64_t rank = weight.dim();
      if (*dim < -rank || *dim >= rank) {
        throw InvalidArgument(absl::StrCat("weight_norm: no dimension ", *dim,
                                           " in ", weight.describe()));
      }
      for (std::int64_t i = 0; i < rank; ++i) {
        if (i != (*dim + rank) % rank) others_.push_back(i);
      }
      per_element_ = rank == 1;
      keepdim_ = true;
    }
    Tensor g;
    {
      NoGrad no_grad;
      g = lengths(weight).clone();
    }
    g.set_requires_grad(weight.requires_grad());
    g_ = register_parameter("original0", g);
    register_parameter("original1", weight);
  }

  Tensor forward(const Tensor& v) override {
    return mul(v, div(g_, lengths(v)));
  }

 private:
  Tensor lengths(const Tensor& v) const {
    return per_element_ ? abs(v) : vector_norm(v, 2, others_, keepdim_);
  }

  autograd::Dims others_;  // {}: all.
  bool keepdim_ = false;
  bool per_element_ = false;
  Tensor g_;
};

std::string renamed(const std::string& name) {
  for (const auto& [suffix, part] :
       {std::pair<std::string_view, std::string_view>{"_g", ".original0"},
        {"_v", ".original1"}}) {
    const std::string old = absl::StrCat("weight", std::string(suffix));
    if (name != old && !absl::EndsWith(name, "." + old)) continue;
    return absl::StrCat(name.substr(0, name.size() - old.size()),
                        "parametrizations.weight", std::string(part));
  }
  return name;
}

}  // namespace

void weight_norm(Module& module, const WeightNormOptions& options) {
  const Tensor weight = Parametrization::weight_of(module, options.name);
  Parametrization::attach(module, options.name,
                          std::make_shared<WeightNorm>(weight, options.dim));
}

StateDict renamed_weight_norms(const StateDict& state) {
  StateDict result;
  for (const auto& [name, tensor] : state) {
    result.push_back({renamed(name), tensor});
  }
  return result;
}

}  // namespace hvd::nn
