// SPDX-License-Identifier: Apache-2.0
// What malloc() does with the memory of gradients that have moved to the arena.
//
// A gradient's first memory is free again as soon as the gradient lies in the arena.
// Left to itself, glibc returns such memory to the system, and gets it anew, page by
// page and cleared, for the next gradient: 13,000 pages in each step of a ResNet-18, a
// fifth of its time.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {

// Has malloc() keep up to 256 MiB of free memory for this process, from the first call
// on; whether it does. Blocks of more than 32 MiB are returned at once, as before.
// Nothing changes where the environment tells glibc what to do (MALLOC_TRIM_THRESHOLD_
// and its siblings, or GLIBC_TUNABLES).
//
// Thread-safe.
bool keep_freed_memory();

}  // namespace hvd
