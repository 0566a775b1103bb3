// SPDX-License-Identifier: Apache-2.0
// Makes malloc() keep the memory of gradients that each step allocates.
//
// A step frees this memory once the gradient is copied to the arena or dropped.
// By default glibc returns it to the system and gets it again, page by page and
// zeroed, for the next gradient. Per step that costs 13,000 pages (ResNet-18)
// or 16,000 pages (an MLP with a 64 MiB matrix): a fifth of the time.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {

// Makes malloc() keep up to 256 MiB of free memory in this process from the
// first call on, and returns whether it does. Blocks of more than 128 MiB still
// return to the system at once; an older glibc returns blocks of more than 32
// MiB. The function changes nothing if the environment configures glibc
// (MALLOC_TRIM_THRESHOLD_ and similar variables, or GLIBC_TUNABLES).
//
// Thread-safe.
bool keep_freed_memory();

}  // namespace hvd
