// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/local/held_meetings.h"

#include <unistd.h>

#include <map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/core/thread/mutex.h"

namespace hvd::transport {
namespace {

struct Meetings {
  struct Held {
    int count = 0;
    pid_t by = 0;
  };
  Mutex mutex;
  std::map<std::pair<std::string, int>, Held> held ABSL_GUARDED_BY(mutex);
};

Meetings& meetings() {
  static Meetings* const instance = new Meetings;
  return *instance;
}

}  // namespace

absl::StatusOr<int> next_meeting(const std::string& job, int rank) {
  MutexLock lock(meetings().mutex);
  const Meetings::Held held = meetings().held[{job, rank}];
  if (held.count == 0 || held.by == ::getpid()) return held.count;
  return absl::FailedPreconditionError(absl::StrCat(
      "process ", ::getpid(), " was forked from process ", held.by,
      ", whose place in the job it cannot take; fork before hvd::init(), or "
      "run a program anew (exec) as a job of its own"));
}

void meeting_was_held(const std::string& job, int rank) {
  MutexLock lock(meetings().mutex);
  Meetings::Held& held = meetings().held[{job, rank}];
  ++held.count;
  held.by = ::getpid();
}

}  // namespace hvd::transport
