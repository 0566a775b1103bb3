// SPDX-License-Identifier: Apache-2.0
// Reads the rotary positions of a decoder from Hugging Face's config.json.
//
//   hvd::RotaryOptions rotary = hvd::nn::parse_rotary_options(text);
//   hvd::nn::CausalAttention attention({..., .rotary_base = rotary.base,
//                                       .rotary_scaling = rotary.scaling});
#pragma once

#include <string_view>

#include "horovodpp/core/export.h"
#include "horovodpp/ops/attention/rotary.h"

namespace HVD_EXPORT hvd {
namespace nn {

// From "rope_theta" and "rope_scaling", or from "rope_parameters" of newer files;
// "max_position_embeddings" is the trained length where the scaling names none.
//   InvalidArgument  the text is no JSON object; a number is none; or the
//                    scaling is not "default", "linear", "dynamic" or "llama3"
RotaryOptions parse_rotary_options(std::string_view config_json);

}  // namespace nn
}  // namespace hvd
