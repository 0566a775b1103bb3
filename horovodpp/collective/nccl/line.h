// SPDX-License-Identifier: Apache-2.0
// An NcclLine connects some ranks by NCCL, each with one GPU, and enqueues
// their calls on its stream.
//
//   HVD_RETURN_IF_ERROR(line.open(id, gpu, interrupt));
//   HVD_RETURN_IF_ERROR(line.put("a broadcast", call, [&](const NcclInto& into) {
//     return into.nccl.ncclBroadcast(..., into.comm, into.stream);
//   }));
//
// Captured calls use a separate stream, which joins the capture. They are
// recorded, and run when the graph is launched.
//
// Not thread-safe.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/collective/data_plane.h"
#include "horovodpp/collective/nccl/communicator.h"
#include "horovodpp/collective/nccl/memory.h"
#include "horovodpp/collective/nccl/session.h"
#include "horovodpp/device/cuda_graph.h"
#include "horovodpp/device/cuda_stream.h"

namespace hvd::collective {

// The destination of a group of NCCL's calls.
struct NcclInto {
  const NcclApi& nccl;
  NcclComm comm;
  device::CuStream stream;
};

class NcclLine {
 public:
  using Group = absl::FunctionRef<NcclResult(const NcclInto&)>;
  // Other work in the stream around a group, and its number of operations.
  struct Around {
    absl::FunctionRef<absl::Status(device::CudaStream&)> before;
    absl::FunctionRef<absl::Status(device::CudaStream&)> after;
    std::size_t operations;
  };

  // `session` outlives this object. `members` are ranks of the job; `rank` is
  // this one's position among them.
  NcclLine(NcclSession& session, std::vector<int> members, int rank)
      : session_(session), members_(std::move(members)), rank_(rank) {}
  ~NcclLine();
  NcclLine(const NcclLine&) = delete;
  NcclLine& operator=(const NcclLine&) = delete;

  // Connects this rank's GPU `gpu` to the others'; one rank has created `id`.
  //   DeadlineExceeded  it takes too long
  //   (errors)          NCCL's, CUDA's and the interrupt's errors
  absl::Status open(const NcclUniqueId& id, int gpu,
                    transport::Interrupt& interrupt);
  // Registers memory, in as many blocks of the same sizes as the other ranks.
  //   (errors)  as open()
  absl::Status register_windows(const std::vector<NcclArena::Block>& blocks,
                                transport::Interrupt& interrupt);
  const NcclWindows& windows() const { return windows_; }
  bool is_open() const { return communicator_ != nullptr; }
  int gpu() const { return gpu_; }
  // "[0, 1, 2]".
  std::string members() const;

  // Enqueues the group as one, after the work that `call` follows. The caller
  // gets the work, or waits for its end here (Call::work). `what` names it in
  // messages. Do not use the line again after an error.
  absl::Status put(const char* what, const Call& call, Group group);
  // As put(), of a reduction whose contributions are multiplied by `factor`, of
  // `type`.
  using Reducing = absl::FunctionRef<NcclResult(const NcclInto&, NcclOp)>;
  struct Factor {
    NcclOp op = kNcclSum;
    NcclDType type = kNcclUint8;
    double value = 1;
  };
  absl::Status put_reduction(const char* what, const Call& call,
                             const Factor& factor, Reducing group);
  // As put(), of a group with other work around it. `after` is always called,
  // even if the group fails.
  absl::Status put_between(const char* what, const Call& call,
                           const Around& around, Group group);
  // As put(), of a captured graph.
  absl::Status launch(const device::CudaGraph& graph, const Call& call);

  // Returns when the communicator has ended, or after a time limit.
  void abort();

 private:
  // Returns when NCCL has done the requested part of connecting the ranks.
  absl::Status await_others(transport::Interrupt& interrupt);
  absl::StatusOr<device::CudaStream*> stream_of(const Call& call);
  // Returns when so many operations of the call may be enqueued.
  absl::Status make_room(const device::CudaStream& stream,
                         std::size_t operations, const Call& call);
  absl::Status put_group(device::CudaStream& stream,
                         transport::Interrupt& interrupt, Group group);
  absl::Status enqueue(
      const char* what, const Call& call,
      absl::FunctionRef<absl::Status(device::CudaStream&)> put);

  NcclSession& session_;
  const std::vector<int> members_;
  const int rank_;
  int gpu_ = -1;
  NcclWindows windows_;
  const NcclApi* nccl_ = nullptr;
  std::shared_ptr<NcclCommunicator> communicator_;  // nullptr: not open.
};

}  // namespace hvd::collective
