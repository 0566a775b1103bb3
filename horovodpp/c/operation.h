// SPDX-License-Identifier: Apache-2.0
// What a handle of C's waits for: the future of a collective, of whatever it gives.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "horovodpp/c/handles.h"
#include "horovodpp/core/buffer.h"
#include "horovodpp/core/future.h"
#include "horovodpp/core/mutex.h"
#include "horovodpp/runtime/settings/options.h"

namespace hvd::c {

// Thread-safe. Its end waits for what uses memory of the caller's.
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
    int joined_last = -1;
  };

  explicit Operation(AnyFuture future) : future_(std::move(future)) {}

  bool poll() const;
  bool wait_for(double seconds) const;
  Status wait() const;
  // As Future::wait(stream).
  Status wait(void* stream) const;

  // What it gave; lives as long as this.
  //   FailedPrecondition  it has not ended, or it failed
  absl::StatusOr<const Results*> results();

 private:
  const AnyFuture future_;
  Mutex mutex_;
  std::unique_ptr<const Results> results_ ABSL_GUARDED_BY(mutex_);
};

Handles<Operation>& operations();

// Gives it a handle, unless it has been refused already, which is returned.
absl::Status begin(Operation::AnyFuture future, std::uint64_t* handle);

}  // namespace hvd::c
