// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/gpu_wait.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"

namespace hvd::collective {
namespace {

// A sleep of 5 us takes 70, so a thread first only yields.
constexpr std::chrono::microseconds kAwake(100);
// The pause between two later polls.
constexpr std::chrono::microseconds kPause(50);

// The time that work gets to end after a failure.
constexpr std::chrono::seconds kDrainTimeout(2);

// Extra time for other ranks, so that the rank that delays them reports first.
constexpr std::chrono::seconds kCourtesy(30);

std::string whole_seconds(std::chrono::nanoseconds time) {
  return absl::StrCat(std::chrono::round<std::chrono::seconds>(time).count());
}

}  // namespace

std::string GpuStall::text(const std::string& what) const {
  if (!has_begun) {
    return absl::StrCat("has not started ", what, " on its GPU for ",
                        whole_seconds(stalled),
                        " s, because earlier work in its stream has not ended");
  }
  return absl::StrCat("has waited for ", whole_seconds(stalled),
                      " s on its GPU for ", what, ", which hangs",
                      is_alone ? "" : " on this or another rank");
}

std::chrono::nanoseconds GpuStall::timeout(
    std::chrono::nanoseconds shutdown) const {
  if (!has_begun || is_alone) return shutdown;
  return shutdown + std::min<std::chrono::nanoseconds>(shutdown, kCourtesy);
}

absl::Status GpuWait::until(
    absl::FunctionRef<absl::StatusOr<bool>()> has_completed) {
  const Clock::time_point since = Clock::now();
  while (true) {
    HVD_ASSIGN_OR_RETURN(const bool is_over, has_completed());
    if (is_over) return absl::OkStatus();
    const absl::Status verdict = call_.interrupt.check();
    if (!absl::IsCancelled(verdict)) HVD_RETURN_IF_ERROR(verdict);
    HVD_RETURN_IF_ERROR(check_for_stall(since));
    if (Clock::now() - since < kAwake) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kPause);
    }
  }
}

absl::Status GpuWait::until_end_of(device::CudaStream& stream) {
  HVD_ASSIGN_OR_RETURN(
      const device::CudaEvent end,
      device::CudaEvent::after(stream.context(), stream.handle()));
  HVD_RETURN_IF_ERROR(until(end));
  return stream.synchronize();
}

bool GpuWait::drain_after_failure(
    std::span<const device::CudaStream* const> streams) {
  const Clock::time_point until = Clock::now() + kDrainTimeout;
  for (const device::CudaStream* const stream : streams) {
    const auto end =
        device::CudaEvent::after(stream->context(), stream->handle());
    if (!end.ok()) return false;
    while (true) {
      const absl::StatusOr<bool> has_completed = end->has_completed();
      if (!has_completed.ok()) return false;
      if (*has_completed) break;
      if (Clock::now() >= until) return false;
      std::this_thread::sleep_for(kPause);
    }
  }
  return true;
}

absl::Status GpuWait::check_for_stall(Clock::time_point since) {
  GpuStall stall = {.is_alone = for_ == For::kItsOwnWork,
                    .stalled = Clock::now() - since};
  const bool warns = !warned_ && timeouts_.wants_warning(stall);
  // If even the shortest timeout is not over, the events need not be asked. A
  // rank that has not begun has the shortest.
  if (!warns && !timeouts_.is_over(stall)) return absl::OkStatus();
  stall.has_begun = true;
  for (const device::CudaEvent* const event : call_.after) {
    HVD_ASSIGN_OR_RETURN(const bool has_completed, event->has_completed());
    stall.has_begun = stall.has_begun && has_completed;
  }
  if (timeouts_.is_over(stall)) {
    return absl::DeadlineExceededError(stall.text(what_));
  }
  if (!warns) return absl::OkStatus();
  warned_ = true;
  timeouts_.warn(absl::StrCat("this rank ", stall.text(what_)));
  return absl::OkStatus();
}

}  // namespace hvd::collective
