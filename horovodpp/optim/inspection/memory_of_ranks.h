// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <string>

#include "horovodpp/core/export.h"
#include "horovodpp/optim/inspection/memory_watch.h"

namespace HVD_EXPORT hvd {
class Runtime;
}

namespace HVD_EXPORT hvd {
namespace optim {

// A table of the memory reports of all ranks: a line for each rank with its
// peak, the sums of its categories, the peak of its arena, and the staging
// memory of its node. Every rank calls it; the text is the same on all.
//
//   const std::string table = hvd::memory_of_ranks(watch.report());
//   if (hvd::rank() == 0) std::puts(table.c_str());
//
// `runtime`: the job; by default the current one.
//   hvd::Error  there is no job, or it is broken
std::string memory_of_ranks(const MemoryReport& report,
                            Runtime* runtime = nullptr);

}  // namespace optim
}  // namespace hvd

namespace HVD_EXPORT hvd {
using optim::memory_of_ranks;
}  // namespace hvd
