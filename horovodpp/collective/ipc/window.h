// SPDX-License-Identifier: Apache-2.0
// An IpcWindow is memory on one rank's GPU that the other ranks of its node reach, with
// the events that say what may be done with it, and the stream in which this rank works
// on all of them. It has two halves, so that one is filled while the other is reduced.
//
//   HVD_ASSIGN_OR_RETURN(auto window, IpcWindow::make(gpus, gpu, bytes));
//   show(window->offer());                      // to the others, who
//   HVD_ASSIGN_OR_RETURN(auto all, Neighbourhood::open(*window, offers, rank));
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
#include "horovodpp/collective/stream_room.h"
#include "horovodpp/core/mutex.h"
#include "horovodpp/device/cuda_ipc.h"
#include "horovodpp/device/cuda_kernels.h"
#include "horovodpp/device/cuda_memory.h"
#include "horovodpp/device/cuda_stream.h"
#include "horovodpp/device/gpus.h"

namespace hvd::collective {

inline constexpr std::size_t kWindowHalves = 2;

// What a rank shows the others of its window, as bytes. Addresses and events count in
// its own process, tickets in all others.
struct IpcOffer {
  struct Half {
    device::CuIpcHandle packed;  // An event: the half is filled.
    device::CuIpcHandle
        reduced;  // Its slice of all windows' halves is reduced.
    device::CuEvent packed_here;
    device::CuEvent reduced_here;
  };
  // What tells processes apart that have one number in different containers.
  std::array<std::uint64_t, 2> process;
  bool exists;  // Otherwise nothing of the rest counts.
  int gpu;
  device::CuIpcHandle memory;
  std::byte* memory_here;
  std::array<Half, kWindowHalves> halves;

  static std::array<std::uint64_t, 2> this_process();
};

class IpcWindow {
 public:
  // Two halves of `half_bytes` on GPU `gpu`.
  //   (errors)  CUDA's
  static absl::StatusOr<std::unique_ptr<IpcWindow>> make(
      device::Gpus& gpus, int gpu, std::size_t half_bytes);

  IpcOffer offer() const;

  device::CudaDriver& cuda() const { return cuda_; }
  const device::CudaKernels& kernels() const { return kernels_; }
  device::CudaStream& stream() { return stream_; }
  const device::CudaStream& stream() const { return stream_; }
  int gpu() const { return stream_.context().index; }

  std::size_t half_bytes() const { return half_bytes_; }
  std::byte* half(std::uint64_t number) const {
    return memory_.data() + number % kWindowHalves * half_bytes_;
  }

  // Returns when so many operations may be put into the stream (stream_room.h).
  absl::Status make_room(std::size_t operations, GpuWait& wait) {
    return room_.make(stream_, operations, [&](const device::CudaEvent& event) {
      return wait.until(event);
    });
  }

  // What is put into the stream from now on comes after what the call follows. `wait` is
  // the call's.
  absl::Status follow(const Call& call, GpuWait& wait);

  // Pinned memory of the host, which is kept as long as the window.
  device::PinnedMemory& host() { return host_; }

  // The same, full of the identity of a reduction. Its stream is empty.
  //   ResourceExhausted  the host has not that much that can be pinned
  static constexpr std::size_t kNeutralBytes = std::size_t{1} << 20;
  absl::StatusOr<const std::byte*> neutral(const Reduction& reduction);

  // Records the events of a half.
  absl::Status tell_packed(std::uint64_t number) {
    return packed_[number % kWindowHalves].record(stream_);
  }
  absl::Status tell_reduced(std::uint64_t number) {
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
        host_(stream_.context()),
        neutral_(stream_.context()) {}

  device::CudaDriver& cuda_;
  const device::CudaKernels& kernels_;
  device::CudaStream stream_;
  const device::IpcMemory memory_;
  const std::size_t half_bytes_;
  StreamRoom room_;
  device::PinnedMemory host_;
  device::PinnedMemory neutral_;
  std::vector<device::IpcEvent> packed_;
  std::vector<device::IpcEvent> reduced_;
};

// The windows of one process that are not in use. What other processes have opened must
// not be freed before they have closed it, and when they do nobody tells: so a window
// stays for the next plane that wants one like it.
//
// Thread-safe.
class IpcWindows {
 public:
  // Those that all jobs of this process use. They are never freed.
  static IpcWindows& of_process();

  // As IpcWindow::make(), if there is none. `gpus` is the same each time, and outlives
  // this.
  absl::StatusOr<std::unique_ptr<IpcWindow>> take(device::Gpus& gpus, int gpu,
                                                  std::size_t half_bytes);
  // One in which nothing is under way.
  void put_back(std::unique_ptr<IpcWindow> window);

 private:
  Mutex mutex_;
  std::vector<std::unique_ptr<IpcWindow>> spare_ ABSL_GUARDED_BY(mutex_);
};

// The window of one rank on each GPU, which all of its planes use: a rank is in one call at
// a time, and when it leaves one nobody uses its window any more.
//
// Not thread-safe.
class IpcRankWindows {
 public:
  // `of_process` outlives this, and the windows.
  explicit IpcRankWindows(IpcWindows& of_process) : of_process_(of_process) {}

  // The one that a plane has already, else as IpcWindows::take(). The last holder puts it
  // back. `half_bytes` is the same each time.
  absl::StatusOr<std::shared_ptr<IpcWindow>> on(device::Gpus& gpus, int gpu,
                                                std::size_t half_bytes);

 private:
  IpcWindows& of_process_;
  std::map<int, std::weak_ptr<IpcWindow>> by_gpu_;
};

// The windows of all ranks, as one of them reaches them.
class Neighbourhood {
 public:
  // `offers` has one of each rank, this one's, of `mine`, at `rank`. The window
  // outlives this.
  //   FailedPrecondition  a rank has none, or its GPU cannot be reached
  //   (errors)            CUDA's
  static absl::StatusOr<Neighbourhood> open(const IpcWindow& mine,
                                            std::span<const IpcOffer> offers,
                                            int rank);

  std::byte* half(std::size_t rank, std::uint64_t number) const {
    return members_[rank].memory + number % kWindowHalves * half_bytes_;
  }

  // Later work in the window's stream runs after all other ranks have filled, or reduced, that
  // half: the last time that they have told of. The stream waits for ranks that are
  // threads. For those of other processes this thread waits: CUDA does not say that a stream ever
  // goes on which waits for an event of a process that has died, and the driver frees no memory
  // of a GPU before all of its streams have.
  absl::Status await_packed(const IpcWindow& mine, std::uint64_t number,
                            GpuWait& wait) const {
    return await(&Member::packed, mine, number, wait);
  }
  absl::Status await_reduced(const IpcWindow& mine, std::uint64_t number,
                             GpuWait& wait) const {
    return await(&Member::reduced, mine, number, wait);
  }

 private:
  // The events of the halves: of this process, or opened.
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

  static absl::StatusOr<Member> reach_here(const IpcWindow& mine,
                                           const IpcOffer& offer);
  static absl::StatusOr<Member> reach_elsewhere(const IpcWindow& mine,
                                                const IpcOffer& offer);

  std::vector<Member> members_;
  std::size_t rank_ = 0;
  std::size_t half_bytes_ = 0;
};

}  // namespace hvd::collective
