// SPDX-License-Identifier: Apache-2.0
// An IpcWindow is memory on one rank's GPU that the other ranks of its node
// reach. It includes the events that say when the memory may be used, and the
// stream in which this rank works on all windows. Its two halves allow one to
// be filled while the other is reduced.
//
//   HVD_ASSIGN_OR_RETURN(auto window, IpcWindow::make(gpus, gpu, bytes));
//   show(window->info());                      // To the others, who do this:
//   HVD_ASSIGN_OR_RETURN(auto all, PeerWindows::open(*window, infos, rank));
//
// Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/collective/gpu_wait.h"
#include "horovodpp/collective/reduce/reduction.h"
#include "horovodpp/collective/stream_throttle.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/device/cuda_ipc.h"
#include "horovodpp/device/cuda_kernels.h"
#include "horovodpp/device/cuda_memory.h"
#include "horovodpp/device/cuda_stream.h"
#include "horovodpp/device/gpus.h"

namespace hvd::collective {

inline constexpr std::size_t kWindowHalves = 2;

// A rank's description of its window for the other ranks, as bytes. Addresses
// and events are valid in its own process, handles in all others.
struct IpcWindowInfo {
  struct Half {
    device::CuIpcHandle packed;  // The event "this half is filled".
    device::CuIpcHandle
        reduced;  // The event "its slice of all windows' halves is reduced".
    device::CuEvent local_packed;
    device::CuEvent local_reduced;
  };
  // Distinguishes processes in different containers that have the same pid.
  std::array<std::uint64_t, 2> process;
  bool exists;  // false: the rest is undefined.
  int gpu;
  device::CuIpcHandle memory;
  std::byte* local_memory;
  std::array<Half, kWindowHalves> halves;

  static std::array<std::uint64_t, 2> this_process();
};

class IpcWindow {
 public:
  // Two halves of `half_bytes` on GPU `gpu`.
  //   (errors)  CUDA's errors
  static absl::StatusOr<std::unique_ptr<IpcWindow>> make(
      device::Gpus& gpus, int gpu, std::size_t half_bytes);

  IpcWindowInfo info() const;

  device::CudaDriver& cuda() const { return cuda_; }
  const device::CudaKernels& kernels() const { return kernels_; }
  device::CudaStream& stream() { return stream_; }
  const device::CudaStream& stream() const { return stream_; }
  int gpu() const { return stream_.context().index; }

  std::size_t half_bytes() const { return half_bytes_; }
  std::byte* half(std::uint64_t number) const {
    return memory_.data() + number % kWindowHalves * half_bytes_;
  }

  // Returns when `operations` operations may be enqueued on the stream
  // (stream_throttle.h).
  absl::Status make_room(std::size_t operations, GpuWait& wait) {
    return throttle_.make(
        stream_, operations,
        [&](const device::CudaEvent& event) { return wait.until(event); });
  }

  // Orders later work in the stream after the work that the call follows.
  // `wait` is the call's.
  absl::Status follow(const Call& call, GpuWait& wait);

  // Pinned host memory filled with the identity of a reduction. Its stream must
  // be empty.
  //   ResourceExhausted  the host cannot pin so much memory
  static constexpr std::size_t kNeutralBytes = std::size_t{1} << 20;
  absl::StatusOr<const std::byte*> neutral(const Reduction& reduction);

  // Records the events of a half.
  absl::Status announce_packed(std::uint64_t number) {
    return packed_[number % kWindowHalves].record(stream_);
  }
  absl::Status announce_reduced(std::uint64_t number) {
    return reduced_[number % kWindowHalves].record(stream_);
  }

 private:
  IpcWindow(device::CudaDriver& cuda, const device::CudaKernels& kernels,
            device::CudaStream stream, device::IpcMemory memory,
            std::size_t half_bytes)
      : cuda_(cuda),
        kernels_(kernels),
        stream_(std::move(stream)),
        memory_(std::move(memory)),
        half_bytes_(half_bytes),
        neutral_(stream_.context()) {}

  device::CudaDriver& cuda_;
  const device::CudaKernels& kernels_;
  device::CudaStream stream_;
  const device::IpcMemory memory_;
  const std::size_t half_bytes_;
  StreamThrottle throttle_;
  device::PinnedMemory neutral_;
  std::vector<device::IpcEvent> packed_;
  std::vector<device::IpcEvent> reduced_;
};

// The unused windows of one process. Memory that other processes have opened
// must not be freed before they close it, and no call reports when they do. So
// a window is kept for the next plane that wants one like it.
//
// Thread-safe.
class IpcWindows {
 public:
  // The windows of all jobs of this process. They are never freed.
  static IpcWindows& of_process();

  // Returns a kept window, or IpcWindow::make()'s if none is kept. `gpus` is
  // the same each time, and outlives this object.
  absl::StatusOr<std::unique_ptr<IpcWindow>> take(device::Gpus& gpus, int gpu,
                                                  std::size_t half_bytes);
  // Keeps a window in which no work is under way.
  void put_back(std::unique_ptr<IpcWindow> window);

 private:
  Mutex mutex_;
  std::vector<std::unique_ptr<IpcWindow>> spare_ ABSL_GUARDED_BY(mutex_);
};

// The window of one rank on each GPU. All planes of the rank share it: a rank
// is in one call at a time, and no rank uses its window after the call.
//
// Not thread-safe.
class IpcRankWindows {
 public:
  // `of_process` outlives this object and the windows.
  explicit IpcRankWindows(IpcWindows& of_process) : of_process_(of_process) {}

  // The window that another plane has, or IpcWindows::take()'s. The last holder
  // returns it. `half_bytes` is the same each time.
  absl::StatusOr<std::shared_ptr<IpcWindow>> on(device::Gpus& gpus, int gpu,
                                                std::size_t half_bytes);

 private:
  IpcWindows& of_process_;
  std::map<int, std::weak_ptr<IpcWindow>> by_gpu_;
};

// The windows of all ranks, as one rank reaches them.
class PeerWindows {
 public:
  // `infos` holds one info of each rank; at `rank` is this rank's, of `mine`.
  // The window outlives this object.
  //   FailedPrecondition  a rank has no window, or its GPU cannot be reached
  //   (errors)            CUDA's errors
  static absl::StatusOr<PeerWindows> open(const IpcWindow& mine,
                                          std::span<const IpcWindowInfo> infos,
                                          int rank);

  std::byte* half(std::size_t rank, std::uint64_t number) const {
    return members_[rank].memory + number % kWindowHalves * half_bytes_;
  }

  // Makes later work in the window's stream run after all other ranks have
  // filled, or reduced, that half, as they announced last. The stream waits for
  // ranks that are threads. This thread waits for ranks in other processes,
  // because a stream that waits for an event of a dead process may never
  // continue. The driver frees no memory of a GPU before all its streams have
  // ended.
  absl::Status await_packed(const IpcWindow& mine, std::uint64_t number,
                            GpuWait& wait) const {
    return await(&Member::packed, mine, number, wait);
  }
  absl::Status await_reduced(const IpcWindow& mine, std::uint64_t number,
                             GpuWait& wait) const {
    return await(&Member::reduced, mine, number, wait);
  }

 private:
  // The events of the halves: this process's own, or opened.
  struct Events {
    std::array<device::CuEvent, kWindowHalves> here = {};
    std::vector<device::IpcEvent> opened;
  };
  struct Member {
    std::byte* memory = nullptr;
    Events packed;
    Events reduced;
    std::vector<device::IpcMemory> opened_memory;
  };
  absl::Status await(Events Member::*events, const IpcWindow& mine,
                     std::uint64_t number, GpuWait& wait) const;

  static absl::StatusOr<Member> open_local(const IpcWindow& mine,
                                           const IpcWindowInfo& info);
  static absl::StatusOr<Member> open_remote(const IpcWindow& mine,
                                            const IpcWindowInfo& info);

  std::vector<Member> members_;
  std::size_t rank_ = 0;
  std::size_t half_bytes_ = 0;
};

}  // namespace hvd::collective
