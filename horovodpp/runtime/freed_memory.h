// SPDX-License-Identifier: Apache-2.0
// Has malloc() keep the memory of gradients that are allocated in each step.
//
// Such memory is free again once the gradient lies in the arena, or is dropped. Left to
// itself, glibc returns it to the system, and gets it anew, page by page and cleared,
// for the next gradient: 13,000 pages in each step of a ResNet-18, and 16,000 in each of
// an MLP with a matrix of 64 MiB, a fifth of their time.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {

// Has malloc() keep up to 256 MiB of free memory for this process, from the first call
// on; whether it does. Blocks of more than 128 MiB are returned at once, as before; an
// older glibc returns those of more than 32 MiB.
// Nothing changes where the environment tells glibc what to do (MALLOC_TRIM_THRESHOLD_
// and its siblings, or GLIBC_TUNABLES).
//
// Thread-safe.
bool keep_freed_memory();

}  // namespace hvd
