// SPDX-License-Identifier: Apache-2.0
// Weight normalization: a weight as its direction v times its length g,
// w = g v / |v| (Salimans and Kingma 2016).
//
//   auto conv = std::make_shared<hvd::nn::Conv1d>(80, 512, 7);
//   hvd::nn::weight_norm(*conv);
//   model.load_state_dict(hvd::nn::renamed_weight_norms(old_state));
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "horovodpp/core/export.h"
#include "horovodpp/nn/module.h"
#include "horovodpp/nn/state_dict.h"

namespace HVD_EXPORT hvd {
namespace nn {

struct WeightNormOptions {
  std::string name = "weight";
  // A length for each index of this dimension; a negative one counts from the
  // end. Without a value: one length for all elements.
  std::optional<std::int64_t> dim = 0;
};

// Parametrizes a weight of `module`: parametrization.h says which, and how to
// end it. The weight is unchanged. Parameters: "parametrizations.weight" with
// ".original0" (g) and ".original1" (v).
//   InvalidArgument  there is no such weight or dimension
void weight_norm(Module& module, const WeightNormOptions& options = {});

// `state` with the names of PyTorch's former torch.nn.utils.weight_norm
// ("weight_g", "weight_v") replaced by the names above.
StateDict renamed_weight_norms(const StateDict& state);

}  // namespace nn
}  // namespace hvd
