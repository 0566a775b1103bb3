// SPDX-License-Identifier: Apache-2.0
// A GpuWait waits for a call's work in GPU streams by polling. It does not
// block in the driver, because the work may never end. Earlier work of the
// program may hang, here or on another rank, or another rank may have died.
//
//   GpuWait wait(timeouts, call, "an allreduce", GpuWait::For::kOtherRanks);
//   HVD_RETURN_IF_ERROR(wait.until(event));
//
// Work in a stream is still done if it ever can be. After giving up a wait,
// leave the memory that the work may read or write allocated until the process
// ends.
#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/collective/data_plane.h"
#include "horovodpp/device/cuda_ipc.h"
#include "horovodpp/device/cuda_stream.h"

namespace hvd::collective {

// A stall of a rank's GPU: its work has not begun, or has not ended, for a
// time. Computes the timeout for it. The rank that delays the others gives up
// first.
struct GpuStall {
  // The earlier work in the rank's own stream has ended.
  bool has_begun = false;
  bool is_alone = false;  // No other rank can be the cause.
  std::chrono::nanoseconds stalled{0};

  std::string text(const std::string& what) const;
  std::chrono::nanoseconds timeout(std::chrono::nanoseconds shutdown) const;
};

// The length of a wait before a warning, and before it is given up; 0:
// unlimited.
struct GpuTimeouts {
  std::chrono::nanoseconds warning{0};
  std::chrono::nanoseconds shutdown{0};
  std::function<void(const std::string& text)> warn = [](const std::string&) {};

  bool wants_warning(const GpuStall& stall) const {
    return warning.count() > 0 && stall.stalled >= warning;
  }
  bool is_over(const GpuStall& stall) const {
    return shutdown.count() > 0 && stall.stalled >= stall.timeout(shutdown);
  }
};

class GpuWait {
 public:
  enum class For { kItsOwnWork, kOtherRanks };
  // Waits for `what`, "an allreduce". `waits_for` says whether the GPU does
  // only this rank's own work or also waits for other ranks. Borrows
  // everything.
  GpuWait(const GpuTimeouts& timeouts, const Call& call, std::string what,
          For waits_for)
      : timeouts_(timeouts),
        call_(call),
        what_(std::move(what)),
        for_(waits_for) {}

  // Ignores the interrupt's Cancelled, which is for waits for other ranks.
  //   DeadlineExceeded  the timeout is over; tells whether the work before the
  //                     call has ended
  //   (errors)          the interrupt's and CUDA's errors
  absl::Status until(const device::CudaEvent& event) {
    return until([&] { return event.has_completed(); });
  }
  absl::Status until(const device::IpcEvent& event) {
    return until([&] { return event.has_completed(); });
  }
  // Waits for the queued work in the stream, and returns its error.
  absl::Status until_end_of(device::CudaStream& stream);

  // Waits briefly for the streams to end after a known failure. They must not
  // use the caller's memory after the caller learns of the failure. The wait is
  // short because a hang in the program's own stream cannot be ended. Returns
  // whether all work has ended.
  static bool drain_after_failure(
      std::span<const device::CudaStream* const> streams);

 private:
  using Clock = std::chrono::steady_clock;

  absl::Status until(absl::FunctionRef<absl::StatusOr<bool>()> has_completed);
  absl::Status check_for_stall(Clock::time_point since);

  const GpuTimeouts& timeouts_;
  const Call& call_;
  const std::string what_;
  const For for_;
  bool warned_ = false;
};

}  // namespace hvd::collective
