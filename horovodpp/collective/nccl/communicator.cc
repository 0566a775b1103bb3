// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/nccl/communicator.h"

#include <utility>

#include "horovodpp/core/thread/thread_start.h"

namespace hvd::collective {

absl::Status NcclCommunicator::usable() const {
  if (comm_ != nullptr) return absl::OkStatus();
  return absl::AbortedError("this communicator of NCCL has been given up");
}

absl::Status NcclCommunicator::accepted(NcclResult result,
                                        const char* call) const {
  if (result == kNcclInProgress) return absl::OkStatus();
  return status_of(nccl_, result, call, comm_);
}

absl::StatusOr<std::shared_ptr<NcclCommunicator>> NcclCommunicator::begin(
    const NcclApi& nccl, const NcclUniqueId& id, const Seat& seat) {
  std::shared_ptr<NcclCommunicator> made(new NcclCommunicator(nccl, seat));
  const MutexLock lock(made->mutex_);
  const device::CurrentContext current(seat.gpu);
  HVD_RETURN_IF_ERROR(current.status());
  NcclConfig config = kNcclWithoutBlocking;
  HVD_RETURN_IF_ERROR(
      made->accepted(nccl.ncclCommInitRankConfig(&made->comm_, seat.ranks, id,
                                                 seat.rank, &config),
                     "ncclCommInitRankConfig"));
  return made;
}

NcclCommunicator::~NcclCommunicator() {
  abort();
  await_end(std::chrono::steady_clock::now() + kCloseTimeout);
}

absl::StatusOr<bool> NcclCommunicator::is_ready() {
  const MutexLock lock(mutex_);
  HVD_RETURN_IF_ERROR(usable());
  NcclResult state = kNcclSuccess;
  HVD_RETURN_IF_ERROR(status_of(nccl_,
                                nccl_.ncclCommGetAsyncError(comm_, &state),
                                "ncclCommGetAsyncError", comm_));
  if (state == kNcclInProgress) return false;
  HVD_RETURN_IF_ERROR(status_of(nccl_, state, "NCCL", comm_));
  return true;
}

NcclResult NcclCommunicator::error() {
  const MutexLock lock(mutex_);
  if (comm_ == nullptr) return kNcclInvalidUsage;
  NcclResult state = kNcclSuccess;
  const NcclResult asked = nccl_.ncclCommGetAsyncError(comm_, &state);
  if (asked != kNcclSuccess) return asked;
  return state == kNcclInProgress ? kNcclSuccess : state;
}

absl::StatusOr<NcclOp> NcclCommunicator::multiplied_sum(void* scalar,
                                                        NcclDType type) {
  const MutexLock lock(mutex_);
  HVD_RETURN_IF_ERROR(usable());
  NcclOp op = kNcclSum;
  HVD_RETURN_IF_ERROR(
      accepted(nccl_.ncclRedOpCreatePreMulSum(&op, scalar, type,
                                              kNcclScalarHostImmediate, comm_),
               "ncclRedOpCreatePreMulSum"));
  return op;
}

void NcclCommunicator::drop(NcclOp op) {
  const MutexLock lock(mutex_);
  if (comm_ != nullptr) nccl_.ncclRedOpDestroy(op, comm_);
}

// The windows must not move, because NCCL may write their handles later.
absl::Status NcclCommunicator::register_windows(
    std::vector<NcclArena::Block> blocks) {
  const MutexLock lock(mutex_);
  HVD_RETURN_IF_ERROR(usable());
  const device::CurrentContext current(gpu_);
  HVD_RETURN_IF_ERROR(current.status());
  for (NcclArena::Block& block : blocks) {
    windows_.push_back({.block = std::move(block)});
  }
  has_windows_ = true;
  HVD_RETURN_IF_ERROR(accepted(nccl_.ncclGroupStart(), "ncclGroupStart"));
  absl::Status registered;
  for (Window& window : windows_) {
    if (!registered.ok()) break;
    registered =
        accepted(nccl_.ncclCommWindowRegister(
                     comm_, window.block.memory.get(), window.block.bytes,
                     &window.handle, kNcclWindowSymmetric),
                 "ncclCommWindowRegister");
  }
  const absl::Status ended = accepted(nccl_.ncclGroupEnd(), "ncclGroupEnd");
  return registered.ok() ? ended : registered;
}

// Graphs captured later do not use the communicator, which is idle from now on.
void NcclCommunicator::drop_graphs() {
  if (!graphs_are_dropped_.exchange(true)) graphs_->drop_all();
}

bool NcclCommunicator::has_windows() {
  const MutexLock lock(mutex_);
  return has_windows_;
}

// Stop after a call that is in progress: NCCL then takes no other call.
absl::Status NcclCommunicator::deregister_windows() {
  drop_graphs();
  const MutexLock lock(mutex_);
  HVD_RETURN_IF_ERROR(usable());
  const device::CurrentContext current(gpu_);
  HVD_RETURN_IF_ERROR(current.status());
  for (Window& window : windows_) {
    if (window.handle == nullptr) continue;
    const NcclResult result = nccl_.ncclCommWindowDeregister(
        comm_, std::exchange(window.handle, nullptr));
    HVD_RETURN_IF_ERROR(accepted(result, "ncclCommWindowDeregister"));
    if (result == kNcclInProgress) return absl::OkStatus();
  }
  has_windows_ = false;
  return absl::OkStatus();
}

void NcclCommunicator::abort() { end_by(nccl_.ncclCommAbort); }

// Ignores the result, on which no caller could act. Registered memory is kept
// until NCCL has returned.
void NcclCommunicator::end_by(NcclResult (*last)(NcclComm)) {
  NcclComm comm = nullptr;
  std::vector<Window> windows;
  {
    const MutexLock lock(mutex_);
    comm = std::exchange(comm_, nullptr);
    windows.swap(windows_);
    has_windows_ = false;
    if (comm == nullptr) return;
    const MutexLock ending(ending_->mutex);
    ending_->is_under_way = true;
  }
  drop_graphs();
  const auto kept = std::make_shared<std::vector<Window>>(std::move(windows));
  const auto end = [comm, last, gpu = gpu_, ending = ending_, kept] {
    {
      const device::CurrentContext current(gpu);
      // As a process exits, there may be no driver, and then no NCCL either.
      if (current.status().ok()) last(comm);
    }
    kept->clear();
    const MutexLock lock(ending->mutex);
    ending->is_under_way = false;
    ending->changed.notify_all();
  };
  auto thread = start_thread("ends a communicator of NCCL", end);
  thread.ok() ? thread->detach() : end();
}

bool NcclCommunicator::await_end(TimePoint deadline) {
  const MutexLock lock(ending_->mutex);
  while (ending_->is_under_way) {
    const bool in_time = ending_->changed.wait_until(ending_->mutex, deadline);
    if (!in_time && ending_->is_under_way) return false;
  }
  return true;
}

absl::Status NcclCommunicator::finalize() {
  drop_graphs();
  const MutexLock lock(mutex_);
  HVD_RETURN_IF_ERROR(usable());
  const device::CurrentContext current(gpu_);
  HVD_RETURN_IF_ERROR(current.status());
  return accepted(nccl_.ncclCommFinalize(comm_), "ncclCommFinalize");
}

void NcclCommunicator::destroy() { end_by(nccl_.ncclCommDestroy); }

}  // namespace hvd::collective
