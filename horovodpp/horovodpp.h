// SPDX-License-Identifier: Apache-2.0
// All of horovodpp: one include. (Without tensors: collectives.h.)
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include "horovodpp/autograd.h"                        // IWYU pragma: export
#include "horovodpp/autograd/graph/sparse_gradient.h"  // IWYU pragma: export
#include "horovodpp/checkpoint.h"                      // IWYU pragma: export
#include "horovodpp/collectives.h"                     // IWYU pragma: export
#include "horovodpp/data/data.h"                       // IWYU pragma: export
#include "horovodpp/distributed/sync_batch_norm.h"     // IWYU pragma: export
#include "horovodpp/distributed/tensor_collectives.h"  // IWYU pragma: export
#include "horovodpp/elastic.h"                         // IWYU pragma: export
#include "horovodpp/nn.h"                              // IWYU pragma: export
#include "horovodpp/optim/adagrad.h"                   // IWYU pragma: export
#include "horovodpp/optim/adam.h"                      // IWYU pragma: export
#include "horovodpp/optim/clip_grad.h"                 // IWYU pragma: export
#include "horovodpp/optim/distributed/decentralized_optimizer.h"  // IWYU pragma: export
#include "horovodpp/optim/distributed/delta_optimizer.h"  // IWYU pragma: export
#include "horovodpp/optim/distributed/distributed_optimizer.h"  // IWYU pragma: export
#include "horovodpp/optim/distributed/sync_state.h"      // IWYU pragma: export
#include "horovodpp/optim/inspection/memory_of_ranks.h"  // IWYU pragma: export
#include "horovodpp/optim/inspection/verify.h"           // IWYU pragma: export
#include "horovodpp/optim/lr_schedule.h"                 // IWYU pragma: export
#include "horovodpp/optim/rules/adam_variants.h"         // IWYU pragma: export
#include "horovodpp/optim/rules/layerwise.h"             // IWYU pragma: export
#include "horovodpp/optim/rules/muon.h"                  // IWYU pragma: export
#include "horovodpp/optim/rules/parameter_groups.h"      // IWYU pragma: export
#include "horovodpp/optim/rules/plateau.h"               // IWYU pragma: export
#include "horovodpp/optim/rules/rmsprop.h"               // IWYU pragma: export
#include "horovodpp/optim/rules/sam.h"                   // IWYU pragma: export
#include "horovodpp/optim/rules/schedules.h"             // IWYU pragma: export
#include "horovodpp/optim/sgd.h"                         // IWYU pragma: export
#include "horovodpp/optim/sparse_adam.h"                 // IWYU pragma: export
#include "horovodpp/replica/objects.h"                   // IWYU pragma: export
#include "horovodpp/runtime/run_ranks.h"                 // IWYU pragma: export
#include "horovodpp/runtime/settings/config.h"           // IWYU pragma: export
