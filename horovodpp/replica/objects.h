// SPDX-License-Identifier: Apache-2.0
// Exchanges bytes of any length between ranks: texts, JSON, data that a program
// has serialized.
//
//   const std::string config = hvd::broadcast_object(read(path), 0);
//   for (const std::string& each : hvd::allgather_object(report())) …
//
// and JSON-like values (value.h):
//
//   const hvd::Value settings = hvd::broadcast_object(mine, 0);
//
// Received bytes are only data; they are never executed.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <memory>
#include <string>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/replica/value.h"
#include "horovodpp/runtime/settings/process_set.h"

namespace HVD_EXPORT hvd {
class Runtime;
}

namespace HVD_EXPORT hvd {
namespace replica {

struct ObjectOptions {
  // The operation's name for peers. Operations in flight at the same time need
  // different names.
  std::string name = "object";
  ProcessSet process_set = ProcessSet::global();
  ValueLimits limits = {};  // Of values.
  // The job; by default the current one (see runtime/global.h).
  Runtime* runtime = nullptr;
};

// `given`, or the current job, which the result keeps alive.
//   hvd::Error  there is none
std::shared_ptr<Runtime> job_of(Runtime* given);

// The `bytes` of rank `root_rank`, a rank of the job; other ranks' are ignored.
//   hvd::Error  there is no job, or the broadcast failed
std::string broadcast_object(const std::string& bytes, int root_rank,
                             const ObjectOptions& options = {});

// The `bytes` of all ranks of the set, in its order.
//   hvd::Error  there is no job, or the allgather failed
std::vector<std::string> allgather_object(const std::string& bytes,
                                          const ObjectOptions& options = {});

// The same for values.
//   InvalidArgument  the value exceeds the limits: on the root, or on the rank
//                    that has it. The other ranks, and a rank that receives an
//                    invalid value, get hvd::Error (InvalidArgument)
Value broadcast_object(const Value& value, int root_rank,
                       const ObjectOptions& options = {});
std::vector<Value> allgather_object(const Value& value,
                                    const ObjectOptions& options = {});

}  // namespace replica
}  // namespace hvd

namespace HVD_EXPORT hvd {
using replica::allgather_object;
using replica::broadcast_object;
}  // namespace hvd
