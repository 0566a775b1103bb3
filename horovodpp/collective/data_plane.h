// SPDX-License-Identifier: Apache-2.0
// A DataPlane moves tensors between ranks by one mechanism. All planes keep one
// contract, which one conformance suite tests.
//
// A plane connects some ranks, its members; ranks in calls are positions among
// the members. Every member makes the same calls in the same order, with equal
// tags, counts, dtypes and options. The coordinator agrees on these. A rank in
// several planes makes their calls in one order, too, the same for all ranks,
// and no two calls have equal tags.
//
// A call blocks until this rank's results are in place. While it waits for
// peers it asks `call.interrupt`, and gives up with the interrupt's error.
// Afterwards the plane must not be used again: all its calls return that error.
//
// The exception is Cancelled: "give this call up, some member will never enter
// it". The interrupts may return Cancelled to every member that has entered a
// call, and only if at least one member never does. An allreduce,
// reducescatter, allgather or barrier that is given up so leaves the plane
// usable. Its inputs and outputs are unchanged, even if they are the same
// memory. The next call, by these or other members, has a later epoch in its
// tag. Conversely, when one of these returns OK, every member has entered it.
// Broadcast and alltoall also leave the plane usable. But they may have changed
// their outputs, and a member may return OK before another one has entered.
//
// Results are bit-equal on all ranks and from run to run. The bits of an
// element depend on the ranks' contributions to it, on the set of ranks and on
// the length of its piece. They never depend on the call's other pieces, on the
// piece's position among them, or on the element's place within the piece.
// (Adasum works on whole pieces.) So a plane may choose algorithms by the size
// of a call, but all of them add in the same order.
//
// f16 and bf16 are accumulated in float. Integers that are averaged or scaled
// are accumulated in a type wide enough for the exact sum. Other integer sums
// and products wrap. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/collective/calls.h"
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
  // Every member is known to enter the call: the interrupt will not return
  // Cancelled, and a member may return OK before all have entered. Equal on all
  // members.
  bool certain = false;
  // Tensors of GPUs are ready when these events have happened; kept by the
  // caller.
  std::span<const device::CudaEvent* const> after = {};
  // Every member has tensors of its own. If not, a plane for GPUs may get host
  // memory from a rank that has joined, which has no tensors. Equal on all
  // members.
  bool all_take_part = true;
  // The call is to be recorded into a graph; `after` are then points of a
  // stream that is being captured. Only for planes that support it
  // (captures()). If such a plane cannot capture this very call it returns
  // Unimplemented on all members and changes nothing. Equal on all members.
  bool captured = false;
  // The GPU that holds all tensors of this rank, if the caller knows it;
  // otherwise planes ask CUDA about each tensor.
  std::optional<int> gpu = {};
  // Receives the work that is still under way on a GPU when the call returns,
  // if the caller wants to wait for its end itself. Other planes leave it
  // unchanged.
  std::shared_ptr<device::GpuWork>* work = nullptr;
};

class DataPlane {
 public:
  virtual ~DataPlane() = default;

  // "shm", "ring" …, as in logs.
  virtual std::string name() const = 0;

  // Whether this plane moves calls of `bytes` (all pieces or ranks together) in
  // the memory of `device`. Depends only on its arguments, so that all ranks
  // choose alike.
  virtual bool supports(const Device& device, std::size_t bytes) const = 0;

  // Whether the members have yet to exchange their capabilities, before their
  // first call in which all take part. They then call introduce() first, as a
  // call of its own, with the device of this rank's tensors. If given up it
  // keeps the promises of an allgather.
  virtual bool needs_introduction() const { return false; }
  virtual absl::Status introduce(const Device&, Call) {
    return absl::OkStatus();
  }

  // Whether the plane can capture calls at this time.
  virtual bool captures() const { return false; }

  // The number of tags that a call of so many bytes uses: its own, and those
  // after it.
  virtual std::uint32_t tags_of(std::size_t) const { return 1; }

  // Memory for a result that its receiver owns, if this plane moves calls of
  // `size.all` bytes faster into such memory; nullptr: any memory will do. The
  // memory may outlive the plane.
  struct ResultSize {
    std::size_t mine = 0;  // Of this rank's result.
    std::size_t all = 0;   // Of all results: equal on all ranks.
  };
  virtual std::shared_ptr<std::byte> result_memory(const ResultSize&) {
    return nullptr;
  }

  // Whether its allreduce supports `op`; otherwise it returns Unimplemented.
  // Depends only on its argument. Few planes support Adasum.
  virtual bool reduces_by(ReduceOp op) const {
    return !describe(op).whole_tensors;
  }

  // The collectives, described in calls.h. Only planes with gathers_alike()
  // implement the calls that exchange sizes; such a call, if given up, changes
  // nothing.
  virtual absl::Status execute(const Allreduce& what, Call call) = 0;
  virtual absl::Status execute(const Reducescatter& what, Call call) = 0;
  virtual absl::Status execute(const Allgather& what, Call call) = 0;
  virtual absl::Status execute(const Broadcast& what, Call call) = 0;
  virtual absl::Status execute(const Alltoall& what, Call call) = 0;
  virtual absl::Status execute(const Barrier& what, Call call) = 0;
  virtual absl::StatusOr<bool> execute(const AllgatherAlike&, Call) {
    return absl::UnimplementedError("this plane is to be told all sizes");
  }
  virtual absl::StatusOr<bool> execute(const AlltoallAlike&, Call) {
    return absl::UnimplementedError("this plane is to be told all sizes");
  }

  virtual bool gathers_alike() const { return false; }

  // Whether broadcasts of a byte or more keep an allgather's promises. A
  // broadcast that is given up changes nothing, and no rank returns OK before
  // all have entered.
  virtual bool meets_in_broadcast() const { return false; }

  // Launches the graph that each member has captured. All members must have
  // captured the same calls.
  //   Unimplemented  this plane cannot; on all members, without any effect
  virtual absl::Status replay(const device::CudaGraph&, Call) {
    return absl::UnimplementedError(
        "only NCCL launches graphs of several ranks, and is not used between "
        "these (HOROVOD_LOG_LEVEL=debug says why)");
  }

  // Allreduces of `bytes`, all pieces together, or barriers, for callers that
  // expect all members to be there; nullptr: the plane has none for these.
  virtual std::unique_ptr<QuickCall> quick_allreduce(const Reduction&,
                                                     std::size_t) {
    return nullptr;
  }
  virtual std::unique_ptr<QuickCall> quick_barrier() { return nullptr; }

  // The same calls, by name.
  absl::Status allreduce(std::span<const Piece> pieces,
                         const Reduction& reduction, const Call& call) {
    return execute(Allreduce{pieces, reduction}, call);
  }
  absl::Status reducescatter(std::span<const Piece> pieces,
                             std::span<const std::int64_t> counts,
                             const Reduction& reduction, const Call& call) {
    return execute(Reducescatter{pieces, counts, reduction}, call);
  }
  absl::Status allgather(std::span<const std::byte> mine,
                         std::span<const std::size_t> bytes_of_rank,
                         std::byte* output, const Call& call) {
    return execute(Allgather{mine, bytes_of_rank, output}, call);
  }
  absl::StatusOr<bool> allgather_alike(std::span<const std::byte> mine,
                                       std::span<std::size_t> bytes_of_rank,
                                       std::byte* output, const Call& call) {
    return execute(AllgatherAlike{mine, bytes_of_rank, output}, call);
  }
  absl::Status broadcast(const std::byte* input, std::byte* output,
                         std::size_t bytes, int root, const Call& call) {
    return execute(Broadcast{input, output, bytes, root}, call);
  }
  absl::Status alltoall(std::span<const std::byte> input,
                        std::span<const std::size_t> send_bytes,
                        std::byte* output,
                        std::span<const std::size_t> receive_bytes,
                        const Call& call) {
    return execute(Alltoall{input, send_bytes, output, receive_bytes}, call);
  }
  absl::StatusOr<bool> alltoall_alike(std::span<const std::byte> input,
                                      std::span<std::size_t> sizes,
                                      std::byte* output, const Call& call) {
    return execute(AlltoallAlike{input, sizes, output}, call);
  }
  absl::Status barrier(const Call& call) { return execute(Barrier{}, call); }
};

// Makes every call as `Derived`'s serve(what, call), usually a template for most
// collectives and overloads for others:
//
//   class LoggedPlane : public PlaneOf<LoggedPlane> {
//    public:
//     template <typename What>
//     absl::Status serve(const What& what, const Call& call) {
//       log(what);
//       return plane_.execute(what, call);
//     }
template <typename Derived>
class PlaneOf : public DataPlane {
 public:
  using DataPlane::execute;
  absl::Status execute(const Allreduce& what, Call call) final {
    return derived().serve(what, call);
  }
  absl::Status execute(const Reducescatter& what, Call call) final {
    return derived().serve(what, call);
  }
  absl::Status execute(const Allgather& what, Call call) final {
    return derived().serve(what, call);
  }
  absl::Status execute(const Broadcast& what, Call call) final {
    return derived().serve(what, call);
  }
  absl::Status execute(const Alltoall& what, Call call) final {
    return derived().serve(what, call);
  }
  absl::Status execute(const Barrier& what, Call call) final {
    return derived().serve(what, call);
  }

 private:
  Derived& derived() { return static_cast<Derived&>(*this); }
};

}  // namespace hvd::collective
