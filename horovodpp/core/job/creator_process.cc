// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/job/creator_process.h"

#include <pthread.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace hvd {
namespace internal {

std::atomic<unsigned> forks{0};

unsigned count_forks() {
  static const int registered =
      ::pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1); });
  static_cast<void>(registered);
  return forks.load(std::memory_order_relaxed);
}

}  // namespace internal

absl::Status CreatorProcess::forked_error() const {
  return absl::FailedPreconditionError(absl::StrCat(
      "process ", ::getpid(), " was forked from ", owner_,
      " and has no part in its job; communicate in the process that started "
      "the job, fork before hvd::init(), or run a program anew (exec)"));
}

}  // namespace hvd
