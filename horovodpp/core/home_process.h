// SPDX-License-Identifier: Apache-2.0
// The HomeProcess of something is the process that made it. A child that is forked off
// later has its memory, but not the threads: a lock that one of them held is never given
// back there. So what has locks asks before it takes one.
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
// Of this process's ancestry, since the first call.
unsigned count_forks();

}  // namespace internal

class HomeProcess {
 public:
  // `owner`: whose process it is, as a child is told.
  explicit HomeProcess(std::string owner) : owner_(std::move(owner)) {}

  // False in a child. A load, where getpid() asks the kernel.
  bool is_here() const {
    return forks_ == internal::forks.load(std::memory_order_relaxed);
  }
  //   FailedPrecondition  this is a child: says of whom, and the way out
  absl::Status check() const {
    return is_here() ? absl::OkStatus() : no_part_in_it();
  }

 private:
  absl::Status no_part_in_it() const;

  const unsigned forks_ = internal::count_forks();
  const std::string owner_;
};

}  // namespace hvd
