// SPDX-License-Identifier: Apache-2.0
// The nn folder in one include: modules, losses, initialization, and files.
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include "horovodpp/nn/activation.h"           // IWYU pragma: export
#include "horovodpp/nn/batch_norm.h"           // IWYU pragma: export
#include "horovodpp/nn/checkpoint.h"           // IWYU pragma: export
#include "horovodpp/nn/conv2d.h"               // IWYU pragma: export
#include "horovodpp/nn/dropout.h"              // IWYU pragma: export
#include "horovodpp/nn/embedding.h"            // IWYU pragma: export
#include "horovodpp/nn/flatten.h"              // IWYU pragma: export
#include "horovodpp/nn/init.h"                 // IWYU pragma: export
#include "horovodpp/nn/layer_norm.h"           // IWYU pragma: export
#include "horovodpp/nn/linear.h"               // IWYU pragma: export
#include "horovodpp/nn/loss.h"                 // IWYU pragma: export
#include "horovodpp/nn/lstm.h"                 // IWYU pragma: export
#include "horovodpp/nn/module.h"               // IWYU pragma: export
#include "horovodpp/nn/module_list.h"          // IWYU pragma: export
#include "horovodpp/nn/multihead_attention.h"  // IWYU pragma: export
#include "horovodpp/nn/pooling.h"              // IWYU pragma: export
#include "horovodpp/nn/safetensors.h"          // IWYU pragma: export
#include "horovodpp/nn/sequential.h"           // IWYU pragma: export
#include "horovodpp/nn/state_dict.h"           // IWYU pragma: export
