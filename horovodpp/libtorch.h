// SPDX-License-Identifier: Apache-2.0
// horovodpp for training programs that use libtorch 1.13 or later, in five
// lines:
//
//   #include <horovodpp/libtorch.h>
//
//   hvd::libtorch::init();
//   hvd::libtorch::broadcast_parameters(*model, 0);
//   hvd::libtorch::DistributedOptimizer optimizer(
//       torch::optim::SGD(model->parameters(), 0.1), model->named_parameters());
//   ...                    // and each rank reads its own part of the data.
//
// Header-only: compiled with the program and its libtorch. The headers use the
// library's C interface, so one library works with every libtorch, of either
// ABI of std::string. C++17. See docs/libtorch.md.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include "horovodpp/libtorch/broadcast.h"              // IWYU pragma: export
#include "horovodpp/libtorch/checkpoint/checkpoint.h"  // IWYU pragma: export
#include "horovodpp/libtorch/collectives.h"            // IWYU pragma: export
#include "horovodpp/libtorch/delta_optimizer.h"        // IWYU pragma: export
#include "horovodpp/libtorch/distributed_optimizer.h"  // IWYU pragma: export
#include "horovodpp/libtorch/frozen.h"                 // IWYU pragma: export
#include "horovodpp/libtorch/job.h"                    // IWYU pragma: export
#include "horovodpp/libtorch/span.h"                   // IWYU pragma: export
