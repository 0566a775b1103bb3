// SPDX-License-Identifier: Apache-2.0
// CreatorProcess remembers the process that created an object. A forked child
// has the object's memory but not its threads: a lock that one of these held is
// never released there. So objects with locks check before locking:
//
//   if (!home_.is_here()) return home_.check();
//   MutexLock lock(mutex_);
//
// Thread-safe.
#pragma once

#include <atomic>
#include <string>
#include <utility>

#include "absl/status/status.h"

namespace hvd {
namespace internal {

extern std::atomic<unsigned> forks;
// Number of forks in this process's ancestry since the first call.
unsigned count_forks();

}  // namespace internal

class CreatorProcess {
 public:
  // `owner` names the parent process in the child's error message.
  explicit CreatorProcess(std::string owner) : owner_(std::move(owner)) {}

  // False in a child. Costs one load, unlike getpid(), which is a system call.
  bool is_here() const {
    return forks_ == internal::forks.load(std::memory_order_relaxed);
  }
  //   FailedPrecondition  in a child; names the owner and a remedy
  absl::Status check() const {
    return is_here() ? absl::OkStatus() : forked_error();
  }

 private:
  absl::Status forked_error() const;

  const unsigned forks_ = internal::count_forks();
  const std::string owner_;
};

}  // namespace hvd
