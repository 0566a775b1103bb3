// SPDX-License-Identifier: Apache-2.0
// The interface for programs that compute their gradients by themselves. It has
// a job, its ranks, collectives and process sets, a reducer of gradients, and
// memory that the ranks of a node share. No tensors and no autograd, which are
// in horovodpp.h.
//
//   #include <horovodpp/collectives.h>
//
//   hvd::throw_if_error(hvd::init());
//   hvd::replica::GradientReducer reducer(hvd::current_runtime());
//   ...                                                     // each step:
//   reducer.add("weights", hvd::TensorView::of(gradients.data(), {n}));
//   reducer.finish();                                       // now the ranks' mean
//
// Compiles as C++17 as well, and includes little.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include "horovodpp/collective/arena/arena.h"        // IWYU pragma: export
#include "horovodpp/core/error.h"                    // IWYU pragma: export
#include "horovodpp/core/memory/buffer.h"            // IWYU pragma: export
#include "horovodpp/core/outcome.h"                  // IWYU pragma: export
#include "horovodpp/core/tensor_view.h"              // IWYU pragma: export
#include "horovodpp/core/thread/future.h"            // IWYU pragma: export
#include "horovodpp/core/trace/span.h"               // IWYU pragma: export
#include "horovodpp/replica/broadcast.h"             // IWYU pragma: export
#include "horovodpp/replica/gradient_reducer.h"      // IWYU pragma: export
#include "horovodpp/runtime/arena_alloc.h"           // IWYU pragma: export
#include "horovodpp/runtime/global.h"                // IWYU pragma: export
#include "horovodpp/runtime/global_collectives.h"    // IWYU pragma: export
#include "horovodpp/runtime/runtime.h"               // IWYU pragma: export
#include "horovodpp/runtime/settings/process_set.h"  // IWYU pragma: export
#include "horovodpp/version.h"                       // IWYU pragma: export
