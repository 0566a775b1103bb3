// SPDX-License-Identifier: Apache-2.0
// The handles of the C interface: numbers that are used once in a process and
// contain their kind, so that every wrong handle is detected.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "horovodpp/core/thread/mutex.h"

namespace hvd::c {

enum class HandleKind : std::uint64_t {
  kOperation = 1,
  kProcessSet = 2,
  kReducer = 3,
  kPrepared = 4
};

// The first bits of a handle are its kind, the others a count.
inline constexpr int kHandleCountBits = 56;

// Why `handle` is not a handle of `kind`; `given` of these were created.
absl::Status wrong_handle(std::uint64_t handle, HandleKind kind,
                          std::uint64_t given);

// Thread-safe. Lives as long as the process.
template <typename T>
class Handles {
 public:
  explicit Handles(HandleKind kind) : kind_(kind) {}

  std::uint64_t add(std::shared_ptr<T> object) {
    MutexLock lock(mutex_);
    const std::uint64_t handle =
        static_cast<std::uint64_t>(kind_) << kHandleCountBits | (given_ + 1);
    objects_.emplace(handle, std::move(object));
    ++given_;
    return handle;
  }

  //   InvalidArgument  no such handle, or of another kind
  absl::StatusOr<std::shared_ptr<T>> find(std::uint64_t handle) const {
    MutexLock lock(mutex_);
    const auto found = objects_.find(handle);
    if (found == objects_.end()) return wrong_handle(handle, kind_, given_);
    return found->second;
  }

  // As find(), and removes the handle. The object ends when the caller releases
  // it.
  absl::StatusOr<std::shared_ptr<T>> take(std::uint64_t handle) {
    MutexLock lock(mutex_);
    const auto found = objects_.find(handle);
    if (found == objects_.end()) return wrong_handle(handle, kind_, given_);
    std::shared_ptr<T> object = std::move(found->second);
    objects_.erase(found);
    return object;
  }

 private:
  const HandleKind kind_;
  mutable Mutex mutex_;
  std::uint64_t given_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_map<std::uint64_t, std::shared_ptr<T>> objects_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace hvd::c
