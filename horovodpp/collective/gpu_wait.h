// SPDX-License-Identifier: Apache-2.0
// How a call waits for what it has put into streams of a GPU: by looking at it, not by
// blocking in the driver, since the work may never end. It comes behind what the program's
// own stream does, which may hang, and on other ranks likewise; or one of them has died.
//
//   GpuWait wait(patience, call, "an allreduce", GpuWait::For::kOtherRanks);
//   HVD_RETURN_IF_ERROR(wait.until(event));
//
// What is in a stream is done even so, if ever it can be: whoever gives a wait up leaves to
// the process what that may still read and write.
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

// For how long a rank has not come to something on its GPU, or has waited for its end; and
// for how long it may. Whoever keeps the others waiting is the first to give up.
struct GpuStall {
  bool has_begun = false;  // What the rank's own stream does before has ended.
  bool is_alone = false;   // No other rank can be the cause.
  std::chrono::nanoseconds stalled{0};

  std::string text(const std::string& what) const;
  std::chrono::nanoseconds patience(std::chrono::nanoseconds shutdown) const;
};

// How long a wait may take before a warning, and before it is given up; 0: any time.
struct GpuPatience {
  std::chrono::nanoseconds warning{0};
  std::chrono::nanoseconds shutdown{0};
  std::function<void(const std::string& text)> warn = [](const std::string&) {};

  bool wants_warning(const GpuStall& stall) const {
    return warning.count() > 0 && stall.stalled >= warning;
  }
  bool is_over(const GpuStall& stall) const {
    return shutdown.count() > 0 && stall.stalled >= stall.patience(shutdown);
  }
};

class GpuWait {
 public:
  enum class For { kItsOwnWork, kOtherRanks };
  // Of `what`, "an allreduce", where the GPU does this rank's own work alone or waits for
  // other ranks, too. All is borrowed.
  GpuWait(const GpuPatience& patience, const Call& call, std::string what,
          For whom)
      : patience_(patience), call_(call), what_(std::move(what)), for_(whom) {}

  // Cancelled, if the interrupt says so, is left to those who wait for other ranks.
  //   DeadlineExceeded  it has not ended for as long as it may take: says whether what
  //                     the call follows has
  //   (errors)          the interrupt's, CUDA's
  absl::Status until(const device::CudaEvent& event) {
    return until([&] { return event.has_happened(); });
  }
  absl::Status until(const device::IpcEvent& event) {
    return until([&] { return event.has_happened(); });
  }
  // All that is in it by now. Tells of its errors.
  absl::Status until_end_of(device::CudaStream& stream);

  // After a failure, which is known already: waits a little for the end of what is in the
  // streams, so that it uses no memory of the caller's when that hears of the failure.
  // Not for long, since what hangs in the program's own stream cannot be ended. Whether
  // all has ended.
  static bool part_with(std::span<const device::CudaStream* const> streams);

 private:
  using Clock = std::chrono::steady_clock;

  absl::Status until(absl::FunctionRef<absl::StatusOr<bool>()> has_happened);
  absl::Status look_for_stall(Clock::time_point since);

  const GpuPatience& patience_;
  const Call& call_;
  const std::string what_;
  const For for_;
  bool warned_ = false;
};

}  // namespace hvd::collective
