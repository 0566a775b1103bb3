// SPDX-License-Identifier: Apache-2.0
// Makes replicas equal: every rank gets the tensors of one rank.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <string>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/core/outcome.h"
#include "horovodpp/core/tensor_view.h"
#include "horovodpp/core/thread/future.h"
#include "horovodpp/runtime/runtime.h"
#include "horovodpp/runtime/settings/options.h"

namespace HVD_EXPORT hvd {
namespace replica {

struct NamedView {
  std::string name;
  TensorView view;
};

// Waits for all, and returns the first error.
Status wait_for_all(const std::vector<Future<void>>& pending);

// Replaces all `tensors` by the tensors of rank `root_rank`, a rank of the job,
// on all ranks of `options.process_set`. Ranks match tensors by name. Peers see
// them as "<options.name>.<name>".
//   hvd::Error  two tensors have one name (InvalidArgument): nothing was sent.
//               Or the first failure, for instance that this rank is not in the
//               process set; all transfers have then ended
void broadcast(Runtime& runtime, const std::vector<NamedView>& tensors,
               int root_rank, const BroadcastOptions& options = {"broadcast"});

}  // namespace replica
}  // namespace hvd
