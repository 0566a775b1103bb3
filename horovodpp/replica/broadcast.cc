#include "horovodpp/replica/broadcast.h"

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"

namespace hvd::replica {

void broadcast(Runtime& runtime, const std::vector<NamedView>& tensors,
               int root_rank, const BroadcastOptions& options) {
  std::vector<Future<void>> pending;
  pending.reserve(tensors.size());
  for (const NamedView& tensor : tensors) {
    pending.push_back(runtime.broadcast_async_(
        tensor.view, root_rank,
        {.name = absl::StrCat(options.name, ".", tensor.name),
         .process_set = options.process_set}));
  }
  absl::Status first;
  for (const Future<void>& done : pending) {
    const absl::Status status = done.wait();
    if (first.ok()) first = status;
  }
  throw_if_error(first);
}

}  // namespace hvd::replica
