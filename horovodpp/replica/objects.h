// SPDX-License-Identifier: Apache-2.0
// Bytes of any length from rank to rank: texts, JSON, what a program has
// serialized.
//
//   const std::string config = hvd::broadcast_object(read(path), 0);
//   for (const std::string& each : hvd::allgather_object(report())) …
//
// What is received is only bytes; nothing of it is executed.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <string>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/runtime/process_set.h"

namespace HVD_EXPORT hvd {
class Runtime;
}

namespace HVD_EXPORT hvd {
namespace replica {

struct ObjectOptions {
  // As peers see it. Those that are under way at the same time have different
  // ones.
  std::string name = "object";
  ProcessSet process_set = ProcessSet::global();
  // The job; by default the current one (see runtime/global.h).
  Runtime* runtime = nullptr;
};

// The `bytes` of rank `root_rank`, a rank of the job; those of others do not
// matter.
//   hvd::Error  there is no job, or the broadcast failed
std::string broadcast_object(const std::string& bytes, int root_rank,
                             const ObjectOptions& options = {});

// The `bytes` of all ranks of the set, in its order.
//   hvd::Error  there is no job, or the allgather failed
std::vector<std::string> allgather_object(const std::string& bytes,
                                          const ObjectOptions& options = {});

}  // namespace replica
}  // namespace hvd

namespace HVD_EXPORT hvd {
using replica::allgather_object;
using replica::broadcast_object;
}  // namespace hvd
