// SPDX-License-Identifier: Apache-2.0
// The nn folder in one include: modules, losses, initialization, and files.
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include "horovodpp/nn/checkpoint.h"                  // IWYU pragma: export
#include "horovodpp/nn/init.h"                        // IWYU pragma: export
#include "horovodpp/nn/layers/activation.h"           // IWYU pragma: export
#include "horovodpp/nn/layers/batch_norm.h"           // IWYU pragma: export
#include "horovodpp/nn/layers/conv2d.h"               // IWYU pragma: export
#include "horovodpp/nn/layers/dropout.h"              // IWYU pragma: export
#include "horovodpp/nn/layers/embedding.h"            // IWYU pragma: export
#include "horovodpp/nn/layers/flatten.h"              // IWYU pragma: export
#include "horovodpp/nn/layers/layer_norm.h"           // IWYU pragma: export
#include "horovodpp/nn/layers/linear.h"               // IWYU pragma: export
#include "horovodpp/nn/layers/loss.h"                 // IWYU pragma: export
#include "horovodpp/nn/layers/lstm.h"                 // IWYU pragma: export
#include "horovodpp/nn/layers/multihead_attention.h"  // IWYU pragma: export
#include "horovodpp/nn/layers/pooling.h"              // IWYU pragma: export
#include "horovodpp/nn/module.h"                      // IWYU pragma: export
#include "horovodpp/nn/module_list.h"                 // IWYU pragma: export
#include "horovodpp/nn/safetensors.h"                 // IWYU pragma: export
#include "horovodpp/nn/sequential.h"                  // IWYU pragma: export
#include "horovodpp/nn/state_dict.h"                  // IWYU pragma: export
