// SPDX-License-Identifier: Apache-2.0
// An NcclCommunicator is NCCL's connection between some ranks, each with a GPU.
// No call blocks: callers poll whether a request is done.
//
//   HVD_ASSIGN_OR_RETURN(auto between, NcclCommunicator::begin(nccl, id, seat));
//   ... until between->is_ready() ...
//   between->put([&](const NcclApi& nccl, NcclComm comm) {
//     return nccl.ncclAllReduce(from, to, count, type, op, comm, stream);
//   });
//   ... until between->is_ready(): now it is in the stream ...
//
// One thread enqueues; another may ask for errors and abort. After an abort the
// work in the stream ends without a result, and nothing can be enqueued.
// Without an abort, call finalize() before the end.
//
// When NCCL ends a communicator it frees memory, and the driver waits for that
// until the whole GPU is idle. A hung kernel of the program, or of another
// communicator, blocks it forever. So both ways to end a communicator run on a
// separate thread, which keeps everything that NCCL still needs.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/collective/nccl/api.h"
#include "horovodpp/collective/nccl/memory.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/device/cuda_driver.h"
#include "horovodpp/device/cuda_graph.h"

namespace hvd::collective {

class NcclCommunicator {
 public:
  struct Seat {
    int rank = 0;
    int ranks = 1;
    device::CudaContext gpu = {};
    // Graphs that may use the communicator, and must be destroyed before it
    // ends.
    std::shared_ptr<device::CudaGraphs> graphs =
        std::make_shared<device::CudaGraphs>();
  };

  // Begins to connect the ranks; one of them has created `id`. `nccl` outlives
  // this object.
  static absl::StatusOr<std::shared_ptr<NcclCommunicator>> begin(
      const NcclApi& nccl, const NcclUniqueId& id, const Seat& seat);
  // Aborts, unless it has been ended; waits for the end, but not for long.
  ~NcclCommunicator();
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  // Whether the host has done everything requested. Make one request at a time.
  //   Aborted   it was aborted
  //   Internal  NCCL's errors, which may have come from another rank
  absl::StatusOr<bool> is_ready();

  // The last error, as NCCL's number; after an abort, that of an invalid usage.
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

  // An operation that multiplies by `scalar`, of `type`, and sums; valid until
  // drop().
  absl::StatusOr<NcclOp> multiplied_sum(void* scalar, NcclDType type);
  void drop(NcclOp op);

  // Begins to register memory, once, with the same sizes on all ranks, block by
  // block. The memory is kept until the communicator has ended.
  absl::Status register_windows(std::vector<NcclArena::Block> blocks);
  bool has_windows();
  // Begins to deregister as many windows as NCCL takes at once. Call it again
  // whenever is_ready(), as long as has_windows().
  absl::Status deregister_windows();

  // Destroys the graphs captured so far; enqueue nothing afterwards. The
  // functions that end the communicator also do so, unless it was done before.
  // Graphs captured later stay.
  void drop_graphs();

  // Begins to abort, unless the communicator has ended.
  void abort();

  // Begins to end it, together with the other ranks. Call destroy() when that
  // is done (is_ready()).
  absl::Status finalize();
  void destroy();

  // Waits until NCCL has ended it, if an end has begun; returns whether that
  // happened by the deadline.
  using TimePoint = std::chrono::steady_clock::time_point;
  bool await_end(TimePoint deadline);

  // The longest wait for that.
  static constexpr std::chrono::seconds kCloseTimeout{2};

 private:
  NcclCommunicator(const NcclApi& nccl, const Seat& seat)
      : nccl_(nccl), gpu_(seat.gpu), graphs_(seat.graphs) {}

  // Ends it by NCCL's `last` function.
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
    NcclWindow handle = nullptr;  // NCCL may leave it null.
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
