// SPDX-License-Identifier: Apache-2.0
// An NcclLine is the connection of some ranks by NCCL, each with one GPU, and what they
// put into its stream.
//
//   HVD_RETURN_IF_ERROR(line.open(id, gpu, interrupt));
//   HVD_RETURN_IF_ERROR(line.put("a broadcast", call, [&](const NcclInto& into) {
//     return into.nccl.ncclBroadcast(..., into.comm, into.stream);
//   }));
//
// What is captured goes into a stream of its own, which joins the capture; what is under
// way there is recorded, and is done when the graph is launched.
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
#include "horovodpp/collective/nccl/session.h"
#include "horovodpp/collective/nccl/windows.h"
#include "horovodpp/device/cuda_graph.h"
#include "horovodpp/device/cuda_stream.h"

namespace hvd::collective {

// Where a group of NCCL's calls goes.
struct NcclInto {
  const NcclApi& nccl;
  NcclComm comm;
  device::CuStream stream;
};

class NcclLine {
 public:
  using Group = absl::FunctionRef<NcclResult(const NcclInto&)>;
  // What else goes into the stream, and how many operations that are.
  struct Around {
    absl::FunctionRef<absl::Status(device::CudaStream&)> before;
    absl::FunctionRef<absl::Status(device::CudaStream&)> after;
    std::size_t operations;
  };

  // `session` outlives this. `members` are ranks of the job, and `rank` is this one's
  // position among them.
  NcclLine(NcclSession& session, std::vector<int> members, int rank)
      : session_(session), members_(std::move(members)), rank_(rank) {}
  ~NcclLine();
  NcclLine(const NcclLine&) = delete;
  NcclLine& operator=(const NcclLine&) = delete;

  // Connects this rank's GPU `gpu` to those of the others; `id` was made by one of them.
  //   DeadlineExceeded  it takes too long
  //   (errors)          NCCL's, CUDA's, the interrupt's
  absl::Status open(const NcclUniqueId& id, int gpu,
                    transport::Interrupt& interrupt);
  // Registers memory, block by block as much as the others do.
  //   (errors)  as open()
  absl::Status register_windows(const std::vector<NcclArena::Block>& blocks,
                                transport::Interrupt& interrupt);
  const NcclWindows& windows() const { return windows_; }
  bool is_open() const { return communicator_ != nullptr; }
  int gpu() const { return gpu_; }
  // "[0, 1, 2]".
  std::string members() const;

  // Puts the group into the stream, as one, behind what `call` is to come after. Whoever
  // makes the call hears of the end, or waits for it here (Call::work). `what`: as in
  // messages. After an error the line is not to be used again.
  absl::Status put(const char* what, const Call& call, Group group);
  // The same of a reduction, whose contributions are multiplied by `factor`, of `type`.
  using Reducing = absl::FunctionRef<NcclResult(const NcclInto&, NcclOp)>;
  struct Factor {
    NcclOp op = kNcclSum;
    NcclDType type = kNcclUint8;
    double value = 1;
  };
  absl::Status put_reduction(const char* what, const Call& call,
                             const Factor& factor, Reducing group);
  // The same of a group with other work around it, which is done whatever becomes of
  // the group.
  absl::Status put_between(const char* what, const Call& call,
                           const Around& around, Group group);
  // The same of what was captured.
  absl::Status launch(const device::CudaGraph& graph, const Call& call);

  // Returns when it has ended, or for too long has not.
  void abort();

 private:
  // Returns when NCCL has connected the ranks as far as it was asked to.
  absl::Status await_others(transport::Interrupt& interrupt);
  absl::StatusOr<device::CudaStream*> stream_of(const Call& call);
  // Returns when so many operations of the call may be put into its stream.
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
  std::shared_ptr<NcclCommunicator> communicator_;  // nullptr: it is not open.
};

}  // namespace hvd::collective
