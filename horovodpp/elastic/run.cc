// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/elastic/run.h"

#include "horovodpp/core/error.h"
#include "horovodpp/core/status.h"
#include "horovodpp/runtime/global.h"

namespace hvd::elastic {

void enter_next_job() {
  if (!is_initialized()) return throw_if_error(init());
  Status status = reform();
  // The job is not broken: newcomers wait.
  if (status.code() == StatusCode::kFailedPrecondition) {
    status = grow();
    // No newcomer is left.
    if (status.code() == StatusCode::kUnavailable) return;
    if (status.code() == StatusCode::kAborted) status = reform();
  }
  throw_if_error(status);
}

namespace internal {

void run_body(State& state, const std::function<void()>& body,
              const std::function<void()>& reset) {
  enum class Entry { kStart, kLoss, kNewcomers };
  Entry entry = Entry::kStart;
  while (true) {
    // Another rank may be lost in any of these calls; then all run again.
    try {
      if (entry != Entry::kStart) state.on_reset(entry == Entry::kLoss);
      state.sync();
      return body();
    } catch (const HostsUpdatedInterrupt&) {
      entry = Entry::kNewcomers;
    } catch (const Error& error) {
      if (!absl::IsAborted(error.status())) throw;
      entry = Entry::kLoss;
    }
    reset();
  }
}

}  // namespace internal
}  // namespace hvd::elastic
