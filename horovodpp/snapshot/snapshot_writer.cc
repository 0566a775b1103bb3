// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/snapshot/snapshot_writer.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>

#include "horovodpp/core/status.h"
#include "horovodpp/core/thread/thread_start.h"
#include "horovodpp/core/trace/span.h"
#include "horovodpp/runtime/runtime.h"

namespace hvd::snapshot {
namespace {

// The thread computes nothing that the training waits for.
void yield_to_training() {
  constexpr int kNice = 10;
  const auto thread = static_cast<id_t>(syscall(SYS_gettid));
  (void)setpriority(PRIO_PROCESS, thread, kNice);
}

}  // namespace

absl::Status SnapshotWriter::start() {
  HVD_ASSIGN_OR_RETURN(thread_, start_thread("writes a snapshot", [this] {
                         yield_to_training();
                         const auto begin = std::chrono::steady_clock::now();
                         outcome_ = write();
                         seconds_ =
                             std::chrono::duration<double>(
                                 std::chrono::steady_clock::now() - begin)
                                 .count();
                         is_writing_ = false;
                       }));
  return absl::OkStatus();
}

bool SnapshotWriter::is_cancelled() const {
  if (is_cancelled_) return true;
  const auto job = work_.job.enter();
  return !job.ok() || !(*job)->status().ok();
}

absl::Status SnapshotWriter::write() {
  const trace::Span span("snapshot");
  const Draft& draft = work_.draft;
  if (work_.part == 0) folder_.clean(work_.kept, draft);
  absl::Status status = folder_.write_part(draft, work_.part, work_.parts,
                                           work_.bytes, work_.size);
  if (work_.part != 0) {
    if (!status.ok()) folder_.report_failure(draft, work_.part, status);
    return status;
  }
  if (status.ok()) {
    status = folder_.await_parts(draft, work_.parts, work_.manifest,
                                 [this] { return is_cancelled(); });
  }
  if (status.ok()) status = folder_.publish(draft, work_.manifest);
  if (status.ok()) {
    folder_.clean(work_.kept, draft);
  } else {
    folder_.discard(draft);
  }
  return status;
}

}  // namespace hvd::snapshot
