// SPDX-License-Identifier: Apache-2.0
// An NcclCommunicator is NCCL's connection between some ranks, each with a GPU. No call
// blocks: whether what was asked for has been done is asked again and again.
//
//   HVD_ASSIGN_OR_RETURN(auto between, NcclCommunicator::begin(nccl, id, seat));
//   ... until between->is_ready() ...
//   between->put([&](const NcclApi& nccl, NcclComm comm) {
//     return nccl.ncclAllReduce(from, to, count, type, op, comm, stream);
//   });
//   ... until between->is_ready(): now it is in the stream ...
//
// One thread puts, another one may ask for errors and abort: then what is in the stream
// ends without a result, and nothing more can be put there. Otherwise finalize() comes
// before the end.
//
// NCCL frees memory when it ends a communicator, for which the driver waits until the whole GPU
// is idle: a hung kernel of the program, or of another communicator, keeps it for ever. So both
// ways to end one run on a thread of their own, which keeps what NCCL still needs.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/collective/nccl/api.h"
#include "horovodpp/collective/nccl/arena.h"
#include "horovodpp/collective/nccl/library.h"
#include "horovodpp/core/mutex.h"
#include "horovodpp/core/status.h"
#include "horovodpp/device/cuda_driver.h"
#include "horovodpp/device/cuda_graph.h"

namespace hvd::collective {

class NcclCommunicator {
 public:
  struct Seat {
    int rank = 0;
    int ranks = 1;
    device::CudaContext gpu = {};
    // What may have something of it, and has to go before it ends.
    std::shared_ptr<device::CudaGraphs> graphs =
        std::make_shared<device::CudaGraphs>();
  };

  // Begins to connect the ranks, of which one has made `id`. `nccl` outlives this.
  static absl::StatusOr<std::shared_ptr<NcclCommunicator>> begin(
      const NcclApi& nccl, const NcclUniqueId& id, const Seat& seat);
  // Aborts, unless it has been ended; waits for the end, but not for long.
  ~NcclCommunicator();
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  // Whether all that was asked for has been done by the host. It may be asked for
  // one thing at a time.
  //   Aborted   it was aborted
  //   Internal  NCCL's errors, which may have come from another rank
  absl::StatusOr<bool> is_ready();

  // The last error, as NCCL's number; that of a wrong use where it was aborted.
  NcclResult error();

  // Calls `f(api, communicator)` as a group.
  //   (errors)  as is_ready()
  template <typename F>
  absl::Status put(F f) {
    const MutexLock lock(mutex_);
    HVD_RETURN_IF_ERROR(usable());
    const device::CurrentContext current(gpu_);
    HVD_RETURN_IF_ERROR(current.status());
    HVD_RETURN_IF_ERROR(accepted(nccl_.ncclGroupStart(), "ncclGroupStart"));
    const absl::Status put = accepted(f(nccl_, comm_), "a collective of NCCL");
    const absl::Status ended = accepted(nccl_.ncclGroupEnd(), "ncclGroupEnd");
    return put.ok() ? ended : put;
  }

  // An op that multiplies by `scalar`, of `type`, and sums; until dropped.
  absl::StatusOr<NcclOp> multiplied_sum(void* scalar, NcclDType type);
  void drop(NcclOp op);

  // Begins to register memory with it, once: as much on all ranks, block by block. It is
  // kept until this has ended.
  absl::Status register_windows(std::vector<NcclArena::Block> blocks);
  bool has_windows();
  // Begins to undo that for as many windows as NCCL takes at once. To be called again whenever
  // is_ready(), as long as has_windows().
  absl::Status deregister_windows();

  // Drops what was captured so far: nothing is put any more. So do those that end it,
  // where that has not been done before; what is captured meanwhile stays.
  void drop_graphs();

  // Begins to abort it, if nothing has ended it before.
  void abort();

  // Begins to end it, together with the other ranks; destroy() begins its end where that is
  // done (is_ready()).
  absl::Status finalize();
  void destroy();

  // Waits until NCCL has ended it, if an end has begun. Whether that is done by the deadline.
  using TimePoint = std::chrono::steady_clock::time_point;
  bool await_end(TimePoint deadline);

  // How long anybody waits for that.
  static constexpr std::chrono::seconds kMostForEnd{2};

 private:
  NcclCommunicator(const NcclApi& nccl, const Seat& seat)
      : nccl_(nccl), gpu_(seat.gpu), graphs_(seat.graphs) {}

  // Has NCCL's `last` function end it.
  void end_by(NcclResult (*last)(NcclComm));
  absl::Status usable() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status accepted(NcclResult result, const char* call) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const NcclApi& nccl_;
  const device::CudaContext gpu_;
  const std::shared_ptr<device::CudaGraphs> graphs_;
  std::atomic<bool> graphs_are_dropped_{false};
  Mutex mutex_;
  NcclComm comm_ ABSL_GUARDED_BY(mutex_) = nullptr;  // nullptr: it has ended.
  struct Window {
    NcclArena::Block block;
    NcclWindow handle = nullptr;  // Also where NCCL makes nothing of it.
  };
  std::vector<Window> windows_ ABSL_GUARDED_BY(mutex_);
  bool has_windows_ ABSL_GUARDED_BY(mutex_) = false;

  // Shared with the thread that ends it.
  struct Ending {
    Mutex mutex;
    CondVar changed;
    bool is_under_way ABSL_GUARDED_BY(mutex) = false;
  };
  const std::shared_ptr<Ending> ending_ = std::make_shared<Ending>();
};

}  // namespace hvd::collective
