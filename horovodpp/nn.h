// SPDX-License-Identifier: Apache-2.0
// The nn folder in one include: modules, losses, initialization, and files.
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include "horovodpp/nn/checkpoint.h"                  // IWYU pragma: export
#include "horovodpp/nn/composed/adaptive_softmax.h"   // IWYU pragma: export
#include "horovodpp/nn/composed/bags.h"               // IWYU pragma: export
#include "horovodpp/nn/composed/channels.h"           // IWYU pragma: export
#include "horovodpp/nn/composed/rearranging.h"        // IWYU pragma: export
#include "horovodpp/nn/composed/transformer_stack.h"  // IWYU pragma: export
#include "horovodpp/nn/containers.h"                  // IWYU pragma: export
#include "horovodpp/nn/decoder/causal_attention.h"    // IWYU pragma: export
#include "horovodpp/nn/decoder/generate.h"            // IWYU pragma: export
#include "horovodpp/nn/decoder/key_value_cache.h"     // IWYU pragma: export
#include "horovodpp/nn/decoder/rotary_config.h"       // IWYU pragma: export
#include "horovodpp/nn/decoder/sampling.h"            // IWYU pragma: export
#include "horovodpp/nn/decoder/swiglu.h"              // IWYU pragma: export
#include "horovodpp/nn/images/convolutions.h"         // IWYU pragma: export
#include "horovodpp/nn/images/pools.h"                // IWYU pragma: export
#include "horovodpp/nn/init.h"                        // IWYU pragma: export
#include "horovodpp/nn/layers/activations.h"          // IWYU pragma: export
#include "horovodpp/nn/layers/cells.h"                // IWYU pragma: export
#include "horovodpp/nn/layers/functions.h"            // IWYU pragma: export
#include "horovodpp/nn/layers/group_norms.h"          // IWYU pragma: export
#include "horovodpp/nn/layers/linear.h"               // IWYU pragma: export
#include "horovodpp/nn/layers/loss.h"                 // IWYU pragma: export
#include "horovodpp/nn/layers/lstm.h"                 // IWYU pragma: export
#include "horovodpp/nn/layers/multihead_attention.h"  // IWYU pragma: export
#include "horovodpp/nn/layers/norms.h"                // IWYU pragma: export
#include "horovodpp/nn/layers/recurrent.h"            // IWYU pragma: export
#include "horovodpp/nn/layers/resampling.h"           // IWYU pragma: export
#include "horovodpp/nn/layers/transformer.h"          // IWYU pragma: export
#include "horovodpp/nn/module.h"                      // IWYU pragma: export
#include "horovodpp/nn/parametrization.h"             // IWYU pragma: export
#include "horovodpp/nn/parametrize/spectral_norm.h"   // IWYU pragma: export
#include "horovodpp/nn/parametrize/weight_norm.h"     // IWYU pragma: export
#include "horovodpp/nn/safetensors.h"                 // IWYU pragma: export
#include "horovodpp/nn/state_dict.h"                  // IWYU pragma: export
#include "horovodpp/nn/torch_file/torch_file.h"       // IWYU pragma: export
#include "horovodpp/nn/weight_average.h"              // IWYU pragma: export
