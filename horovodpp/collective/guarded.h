// SPDX-License-Identifier: Apache-2.0
// Records the outcome of a call that may throw.
#pragma once

#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"

namespace hvd::collective {

// The outcome of a call that has thrown, for those who do not see the
// exception.
inline absl::Status ended_by_exception() {
  return absl::InternalError("an exception ended a call on this rank");
}

// note(f()), or note(ended_by_exception()) if f throws. Both return an
// absl::Status.
template <typename F, typename Note>
absl::Status guarded(F f, Note note) {
  absl::Cleanup thrown = [&] { note(ended_by_exception()).IgnoreError(); };
  const absl::Status status = f();
  std::move(thrown).Cancel();
  return note(status);
}

}  // namespace hvd::collective
