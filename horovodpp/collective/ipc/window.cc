// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/ipc/window.h"

#include <unistd.h>

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/collective/reduce/identity.h"
#include "horovodpp/core/dtype.h"
#include "horovodpp/core/status.h"

namespace hvd::collective {

std::array<std::uint64_t, 2> IpcWindowInfo::this_process() {
  static const std::uint64_t name = [] {
    std::random_device random;
    return std::uint64_t{random()} << 32 | random();
  }();
  return {static_cast<std::uint64_t>(getpid()), name};
}

absl::StatusOr<std::unique_ptr<IpcWindow>> IpcWindow::make(
    device::Gpus& gpus, int gpu, std::size_t half_bytes) {
  HVD_ASSIGN_OR_RETURN(device::CudaDriver* const cuda, gpus.driver());
  HVD_ASSIGN_OR_RETURN(const device::CudaContext context, cuda->context(gpu));
  HVD_ASSIGN_OR_RETURN(const device::CudaKernels* const kernels,
                       gpus.kernels(gpu));
  HVD_ASSIGN_OR_RETURN(device::CudaStream stream,
                       device::CudaStream::create(context));
  HVD_ASSIGN_OR_RETURN(
      device::IpcMemory memory,
      device::IpcMemory::allocate(context, kWindowHalves * half_bytes));
  std::unique_ptr<IpcWindow> window(new IpcWindow(
      *cuda, *kernels, std::move(stream), std::move(memory), half_bytes));
  for (std::size_t i = 0; i < kWindowHalves; ++i) {
    for (auto* const events : {&window->packed_, &window->reduced_}) {
      HVD_ASSIGN_OR_RETURN(device::IpcEvent event,
                           device::IpcEvent::create(context));
      events->push_back(std::move(event));
    }
  }
  return window;
}

IpcWindowInfo IpcWindow::info() const {
  IpcWindowInfo info = {.process = IpcWindowInfo::this_process(),
                        .exists = true,
                        .gpu = gpu(),
                        .memory = memory_.ticket(),
                        .local_memory = memory_.data(),
                        .halves = {}};
  for (std::size_t i = 0; i < kWindowHalves; ++i) {
    info.halves[i] = {.packed = packed_[i].ticket(),
                      .reduced = reduced_[i].ticket(),
                      .local_packed = packed_[i].handle(),
                      .local_reduced = reduced_[i].handle()};
  }
  return info;
}

absl::Status IpcWindow::follow(const Call& call, GpuWait& wait) {
  for (const device::CudaEvent* const event : call.after) {
    HVD_RETURN_IF_ERROR(make_room(1, wait));
    HVD_RETURN_IF_ERROR(stream_.wait_for(*event));
  }
  return absl::OkStatus();
}

absl::StatusOr<const std::byte*> IpcWindow::neutral(
    const Reduction& reduction) {
  HVD_ASSIGN_OR_RETURN(std::byte* const memory,
                       neutral_.at_least(kNeutralBytes));
  fill_identity(
      reduction, memory,
      static_cast<std::int64_t>(kNeutralBytes / size_of(reduction.dtype)));
  return memory;
}

IpcWindows& IpcWindows::of_process() {
  static auto* const windows = new IpcWindows;
  return *windows;
}

absl::StatusOr<std::unique_ptr<IpcWindow>> IpcWindows::take(
    device::Gpus& gpus, int gpu, std::size_t half_bytes) {
  {
    const MutexLock lock(mutex_);
    const auto found =
        std::find_if(spare_.begin(), spare_.end(), [&](const auto& window) {
          return window->gpu() == gpu && window->half_bytes() == half_bytes;
        });
    if (found != spare_.end()) {
      std::unique_ptr<IpcWindow> window = std::move(*found);
      spare_.erase(found);
      return window;
    }
  }
  return IpcWindow::make(gpus, gpu, half_bytes);
}

void IpcWindows::put_back(std::unique_ptr<IpcWindow> window) {
  const MutexLock lock(mutex_);
  spare_.push_back(std::move(window));
}

absl::StatusOr<std::shared_ptr<IpcWindow>> IpcRankWindows::on(
    device::Gpus& gpus, int gpu, std::size_t half_bytes) {
  std::weak_ptr<IpcWindow>& known = by_gpu_[gpu];
  if (std::shared_ptr<IpcWindow> window = known.lock()) return window;
  HVD_ASSIGN_OR_RETURN(std::unique_ptr<IpcWindow> taken,
                       of_process_.take(gpus, gpu, half_bytes));
  const std::shared_ptr<IpcWindow> window(
      taken.release(), [&spare = of_process_](IpcWindow* gone) {
        spare.put_back(std::unique_ptr<IpcWindow>(gone));
      });
  known = window;
  return window;
}

absl::StatusOr<PeerWindows> PeerWindows::open(
    const IpcWindow& mine, std::span<const IpcWindowInfo> infos, int rank) {
  PeerWindows all;
  all.rank_ = static_cast<std::size_t>(rank);
  all.half_bytes_ = mine.half_bytes();
  for (std::size_t i = 0; i < infos.size(); ++i) {
    if (!infos[i].exists) {
      return absl::FailedPreconditionError(
          absl::StrCat("the rank at position ", i, " has no window"));
    }
    const bool here = infos[i].process == IpcWindowInfo::this_process();
    HVD_ASSIGN_OR_RETURN(Member member, here ? open_local(mine, infos[i])
                                             : open_remote(mine, infos[i]));
    all.members_.push_back(std::move(member));
  }
  return all;
}

absl::StatusOr<PeerWindows::Member> PeerWindows::open_local(
    const IpcWindow& mine, const IpcWindowInfo& info) {
  HVD_ASSIGN_OR_RETURN(const device::CudaContext my_gpu,
                       mine.cuda().context(mine.gpu()));
  HVD_ASSIGN_OR_RETURN(const device::CudaContext peer,
                       mine.cuda().context(info.gpu));
  HVD_RETURN_IF_ERROR(device::enable_peer_access(my_gpu, peer));
  Member member;
  member.memory = info.local_memory;
  for (std::size_t i = 0; i < kWindowHalves; ++i) {
    member.packed.here[i] = info.halves[i].local_packed;
    member.reduced.here[i] = info.halves[i].local_reduced;
  }
  return member;
}

absl::StatusOr<PeerWindows::Member> PeerWindows::open_remote(
    const IpcWindow& mine, const IpcWindowInfo& info) {
  HVD_ASSIGN_OR_RETURN(const device::CudaContext my_gpu,
                       mine.cuda().context(mine.gpu()));
  Member member;
  HVD_ASSIGN_OR_RETURN(device::IpcMemory memory,
                       device::IpcMemory::open(my_gpu, info.memory));
  member.memory = memory.data();
  member.opened_memory.push_back(std::move(memory));
  const auto open = [&](const device::CuIpcHandle& ticket,
                        Events& events) -> absl::Status {
    HVD_ASSIGN_OR_RETURN(device::IpcEvent event,
                         device::IpcEvent::open(my_gpu, ticket));
    events.opened.push_back(std::move(event));
    return absl::OkStatus();
  };
  for (const IpcWindowInfo::Half& half : info.halves) {
    HVD_RETURN_IF_ERROR(open(half.packed, member.packed));
    HVD_RETURN_IF_ERROR(open(half.reduced, member.reduced));
  }
  return member;
}

absl::Status PeerWindows::await(Events Member::*events, const IpcWindow& mine,
                                std::uint64_t number, GpuWait& wait) const {
  const std::size_t half = number % kWindowHalves;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (i == rank_) continue;
    const Events& theirs = members_[i].*events;
    if (theirs.opened.empty()) {
      HVD_RETURN_IF_ERROR(mine.stream().wait_for(theirs.here[half]));
    } else {
      HVD_RETURN_IF_ERROR(wait.until(theirs.opened[half]));
    }
  }
  return absl::OkStatus();
}

}  // namespace hvd::collective
