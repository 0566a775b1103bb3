// SPDX-License-Identifier: Apache-2.0
// An Operation is the future of a collective of any result type, for a handle
// of the C interface.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "horovodpp/c/handles.h"
#include "horovodpp/core/memory/buffer.h"
#include "horovodpp/core/thread/future.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/runtime/settings/options.h"

namespace hvd::c {

// Thread-safe. Its destructor waits for operations that use the caller's
// memory.
class Operation {
 public:
  using Buffers = std::vector<Buffer>;
  using AnyFuture =
      std::variant<Future<void>, Future<Buffer>, Future<Buffers>,
                   Future<AlltoallResult>, Future<std::vector<std::int64_t>>,
                   Future<int>>;

  struct Results {
    Buffers tensors = {};
    std::vector<std::int64_t> received_splits = {};
    int rank = -1;  // That joined last, or that has sent.
  };

  explicit Operation(AnyFuture future) : future_(std::move(future)) {}

  bool poll() const;
  bool wait_for(double seconds) const;
  Status wait() const;
  // As Future::wait_within().
  Status wait_within(double seconds) const;
  // As Future::wait(stream).
  Status wait(void* stream) const;

  // The results; valid as long as this object.
  //   FailedPrecondition  it has not ended, or it failed
  absl::StatusOr<const Results*> results();

 private:
  const AnyFuture future_;
  Mutex mutex_;
  std::unique_ptr<const Results> results_ ABSL_GUARDED_BY(mutex_);
};

Handles<Operation>& operations();

// Gives the future a handle, unless the operation was refused at once; then
// returns that error.
absl::Status begin(Operation::AnyFuture future, std::uint64_t* handle);

}  // namespace hvd::c
