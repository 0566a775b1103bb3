// SPDX-License-Identifier: Apache-2.0
// A DataPlane moves tensors between ranks by one mechanism. All planes keep one
// contract, held to it by one conformance suite.
//
// A plane connects some ranks, its members; ranks in calls are positions among
// them. Every member makes the same calls in the same order, with equal tags,
// counts, dtypes and options; agreeing on that is the coordinator's business. A
// rank that is a member of several planes makes their calls in one order, too,
// the same for all ranks, and no two of them have equal tags.
//
// A call blocks until this rank's results are in place; while it waits for
// peers it asks `call.interrupt`, and gives up with the interrupt's error. After that
// the plane is not used again: all its calls return that error.
//
// The exception is Cancelled: "give this call up, some member will never enter
// it". The interrupts may say so to every member that has entered a call, and only
// if at least one member never does. An allreduce, reducescatter, allgather or
// barrier that is given up in this way leaves its inputs and outputs as they
// were, even if they are the same memory, and the plane usable; the next call, by
// these or other members, has a later epoch in its tag. Conversely, when one of
// these returns OK, every member has entered it. Broadcast and alltoall leave the
// plane usable too, but may have changed their outputs, and a member may return
// from them with OK before another one has entered.
//
// Results are bit-equal on all ranks and from run to run: the bits of an element
// depend on what the ranks contribute to it, on who they are and on the length
// of its piece, never on the other pieces of the call, the position of its own
// among them, or its place within the piece. (Adasum works on whole pieces.) So
// whichever algorithm a plane chooses for the size of a call, all of them add in
// the same order. f16 and
// bf16 are accumulated in float, integers that are averaged or scaled in a type
// wide enough for the exact sum; other integer sums and products wrap. Not
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/collective/quick_call.h"
#include "horovodpp/collective/reduce/piece.h"
#include "horovodpp/collective/reduce/reduction.h"
#include "horovodpp/core/device.h"
#include "horovodpp/core/reduce_op.h"
#include "horovodpp/device/cuda_graph.h"
#include "horovodpp/device/cuda_stream.h"
#include "horovodpp/device/gpu_work.h"
#include "horovodpp/transport/communicator.h"
#include "horovodpp/transport/waiting.h"

namespace hvd::collective {

struct Call {
  transport::DataTag tag;
  transport::Interrupt& interrupt;
  // Every member is known to enter the call: the interrupt will not say Cancelled,
  // and a member may return OK before all have entered it. Equal on all members.
  bool certain = false;
  // Tensors of GPUs are ready when these have happened; kept by the caller.
  std::span<const device::CudaEvent* const> after = {};
  // Every member has tensors of its own. If not, what a plane for GPUs is given may be
  // memory of the host, where a rank that has joined has none. Equal on all members.
  bool all_take_part = true;
  // Equal on all members: it is to be recorded into a graph, where `after` are points of
  // a stream that is captured. Of planes that say that they do so (captures()); where
  // one does not do so with this very call it returns Unimplemented, on all members, and
  // nothing has happened.
  bool captured = false;
  // The GPU that all tensors of this rank lie on, where the caller knows that; otherwise planes
  // ask CUDA about each.
  std::optional<int> gpu = {};
  // Where to put what is still under way on a GPU when the call returns, if the caller
  // wants to wait for its end itself. Planes that do not work so put nothing there.
  std::shared_ptr<device::GpuWork>* work = nullptr;
};

class DataPlane {
 public:
  virtual ~DataPlane() = default;

  // "shm", "ring" …, as in logs.
  virtual std::string name() const = 0;

  // Whether this plane moves calls of so many bytes (all pieces or ranks
  // together) in the memory of `device`. Depends on nothing else, so that all
  // ranks choose alike.
  virtual bool supports(const Device& device, std::size_t bytes) const = 0;

  // Whether its members have yet to tell each other what they have, before any call of
  // theirs in which all take part. Then they call introduce() first, as a call of its
  // own, with the device on which this rank's tensors are. It keeps what an allgather
  // promises of calls that are given up.
  virtual bool needs_introduction() const { return false; }
  virtual absl::Status introduce(const Device&, Call) {
    return absl::OkStatus();
  }

  // Whether calls can be captured by it, by now.
  virtual bool captures() const { return false; }

  // How many tags a call of so many bytes uses: its own, and those after it.
  virtual std::uint32_t tags_of(std::size_t) const { return 1; }

  // Memory for a result that its receiver owns, if this plane moves calls of
  // `size.all` bytes faster into such memory; nullptr: any will do. May be held
  // beyond the plane.
  struct ResultSize {
    std::size_t mine = 0;  // Of this rank's result.
    std::size_t all = 0;   // Of all ranks' together: equal on all ranks.
  };
  virtual std::shared_ptr<std::byte> result_memory(const ResultSize&) {
    return nullptr;
  }

  // Whether its allreduce supports `op`; otherwise it returns Unimplemented.
  // Depends on nothing else. Few planes support Adasum.
  virtual bool reduces_by(ReduceOp op) const { return op != ReduceOp::kAdasum; }

  // Reduces all pieces, elementwise over the ranks, in one go.
  virtual absl::Status allreduce(std::span<const Piece> pieces,
                                 const Reduction& reduction, Call call) = 0;

  // As allreduce, but of each piece this rank gets only its part. An `input` is
  // a whole tensor of `count` elements, `output` this rank's part of it. The
  // parts lie in the tensor in rank order; counts[p * ranks + r] is the number
  // of elements of piece p that go to rank r; zero is legal. Gives the bits of
  // an allreduce of the same pieces by the same plane.
  //   InvalidArgument  the counts are not one per piece and rank, or do not add
  //                    up to the pieces'
  virtual absl::Status reducescatter(std::span<const Piece> pieces,
                                     std::span<const std::int64_t> counts,
                                     const Reduction& reduction, Call call) = 0;

  // Concatenates every rank's `mine` into `output` in rank order.
  // `bytes_of_rank` has an entry for each rank, equal on all ranks; zeros are
  // legal.
  virtual absl::Status allgather(std::span<const std::byte> mine,
                                 std::span<const std::size_t> bytes_of_rank,
                                 std::byte* output, Call call) = 0;

  // Whether each rank may know only how much it brings itself. Then allgather_alike()
  // tells every rank what each brings, and is an allgather, too, if all bring as many
  // bytes and have an `output` for them: so it says, on all ranks alike. If not it
  // writes to none. Gives up as an allgather does. `bytes_of_rank` has room for each rank.
  virtual bool gathers_alike() const { return false; }
  virtual absl::StatusOr<bool> allgather_alike(std::span<const std::byte>,
                                               std::span<std::size_t>,
                                               std::byte*, Call) {
    return absl::UnimplementedError("this plane is to be told all sizes");
  }
  // The same planes have this alltoall, if every two ranks send each other as many bytes
  // and all have an `output`. sizes[from * ranks + to] are the bytes of each; the caller
  // sets this rank's row, the call the others. Gives up as an allgather does.
  virtual absl::StatusOr<bool> alltoall_alike(std::span<const std::byte>,
                                              std::span<std::size_t>,
                                              std::byte*, Call) {
    return absl::UnimplementedError("this plane is to be told all sizes");
  }

  // Copies `input` of rank `root` to `output` on every rank (on the root only
  // where the two differ). `input` is read on the root alone.
  virtual absl::Status broadcast(const std::byte* input, std::byte* output,
                                 std::size_t bytes, int root, Call call) = 0;

  // Whether its broadcasts of a byte or more keep what an allgather promises: to leave
  // all as it was if they are given up, and not to return OK before all have entered.
  virtual bool meets_in_broadcast() const { return false; }

  // Sends the next send_bytes[r] bytes of `input` to rank r, for all ranks in
  // order, and writes the receive_bytes[r] bytes from rank r to `output`, in the
  // same order. Zeros are legal; the two do not overlap.
  //   InvalidArgument  there is not one size for each rank, or the sizes do not
  //                    add up to `input`, or a rank sends a size that is not
  //                    expected here (some planes report it on all ranks)
  virtual absl::Status alltoall(std::span<const std::byte> input,
                                std::span<const std::size_t> send_bytes,
                                std::byte* output,
                                std::span<const std::size_t> receive_bytes,
                                Call call) = 0;

  // Returns OK on no rank before every rank has called it.
  virtual absl::Status barrier(Call call) = 0;

  // Launches what each member has captured; what there is in it of calls that were
  // captured was so on all of them.
  //   Unimplemented  it cannot; on all members, and nothing has happened
  virtual absl::Status replay(const device::CudaGraph&, Call) {
    return absl::UnimplementedError(
        "only NCCL launches graphs of several ranks, and is not used between "
        "these (HOROVOD_LOG_LEVEL=debug says why)");
  }

  // Allreduces of `bytes`, all pieces together, or barriers, for callers that expect
  // to find all members there; nullptr: this plane has none for these.
  virtual std::unique_ptr<QuickCall> quick_allreduce(const Reduction&,
                                                     std::size_t) {
    return nullptr;
  }
  virtual std::unique_ptr<QuickCall> quick_barrier() { return nullptr; }
};

}  // namespace hvd::collective
