// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/replica/broadcast.h"

#include <string_view>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"

namespace hvd::replica {
namespace {

// Refuse equal names at once. Otherwise the second is refused only if the first
// is still in flight: some ranks would wait for a broadcast that others
// refused.
void check_names(const std::vector<NamedView>& tensors,
                 const BroadcastOptions& options) {
  absl::flat_hash_set<std::string_view> names;
  for (const NamedView& tensor : tensors) {
    if (names.insert(tensor.name).second) continue;
    throw Error(absl::InvalidArgumentError(
        absl::StrCat(options.name, ": two tensors are named '", tensor.name,
                     "'; give each a name of its own. No tensor was sent")));
  }
}

}  // namespace

Status wait_for_all(const std::vector<Future<void>>& pending) {
  Status first;
  for (const Future<void>& done : pending) {
    const Status status = done.wait();
    if (first.ok()) first = status;
  }
  return first;
}

void broadcast(Runtime& runtime, const std::vector<NamedView>& tensors,
               int root_rank, const BroadcastOptions& options) {
  check_names(tensors, options);
  std::vector<Future<void>> pending;
  pending.reserve(tensors.size());
  for (const NamedView& tensor : tensors) {
    pending.push_back(runtime.broadcast_async_(
        tensor.view, root_rank,
        {.name = absl::StrCat(options.name, ".", tensor.name),
         .process_set = options.process_set,
         .keep_alive = options.keep_alive}));
  }
  throw_if_error(wait_for_all(pending));
}

}  // namespace hvd::replica
