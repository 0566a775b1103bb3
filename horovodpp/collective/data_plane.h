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
// if at least one never does. An allreduce, reducescatter, allgather or barrier
// given up so leaves inputs and outputs as they were, also where they are the
// same memory, and the plane usable; whatever is called next, by these or other
// members, has a later epoch in its tag. Conversely, where one of these returns
// OK every member has entered it. Broadcast and alltoall leave the plane usable
// too, but not always their outputs intact, and a member may come back from
// them with OK before another one has entered.
//
// Results are bit-equal on all ranks and from run to run: the bits of an element
// depend on what the ranks contribute to it, on who they are and on the length
// of its piece, never on the other pieces of the call, on where its own stands
// among them, or on its place in it. (Adasum is of whole pieces.) So whatever a
// plane chooses by the size of a call, all its ways add in one order. f16 and
// bf16 are accumulated in float, integers that are averaged or scaled in a type
// wide enough for the exact sum; other integer sums and products wrap. Not
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "horovodpp/core/device.h"
#include "horovodpp/core/dtype.h"
#include "horovodpp/core/reduce_op.h"
#include "horovodpp/transport/communicator.h"
#include "horovodpp/transport/waiting.h"

namespace hvd::collective {

// One tensor's part in a fused call, in elements. In an allreduce `output` may
// be `input`; otherwise the two do not overlap.
struct Piece {
  const void* input = nullptr;
  void* output = nullptr;
  std::int64_t count = 0;
};

// result = postscale * op over ranks of (prescale * input). Integers are scaled
// in double, truncated toward zero and held at the limits of their type (NaN
// becomes 0); an average of integers is the exact sum divided, rounded toward
// zero. Min and max hand NaN on. For bool: min and product are "and", max and
// sum are "or". Adasum (adasum_math.h) is of whole pieces, each by itself, and
// of floating-point numbers only.
struct Reduction {
  DType dtype = DType::kF32;
  ReduceOp op = ReduceOp::kSum;
  double prescale = 1.0;
  double postscale = 1.0;
  // An average divides by so many; 0: by the number of ranks of the plane.
  int participants = 0;
};

// OK if the reduction makes sense.
//   InvalidArgument  an average or a scale of bool; fewer than no participants;
//                    Adasum of integers or bool
absl::Status check_unusual(const Reduction& reduction);
inline absl::Status check(const Reduction& reduction) {
  const bool is_usual = reduction.op != ReduceOp::kAdasum &&
                        reduction.dtype != DType::kBool &&
                        reduction.participants >= 0;
  return is_usual ? absl::OkStatus() : check_unusual(reduction);
}

// OK if it also makes sense where each rank gets a part of the result only.
//   InvalidArgument  as check(); Adasum, which needs tensors as a whole
absl::Status check_scattered(const Reduction& reduction);

struct Call {
  transport::DataTag tag;
  transport::Interrupt& interrupt;
  // Every member is known to enter the call: the interrupt will not say Cancelled,
  // and to return OK need not tell that all have entered it. Equal on all
  // members.
  bool certain = false;
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

  // Whether its allreduce knows `op`; else it returns Unimplemented. Depends on
  // nothing else. Planes that know Adasum are the exception.
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

  // Copies `input` of rank `root` to `output` on every rank (on the root only
  // where the two differ). `input` is read on the root alone.
  virtual absl::Status broadcast(const std::byte* input, std::byte* output,
                                 std::size_t bytes, int root, Call call) = 0;

  // Sends the next send_bytes[r] bytes of `input` to rank r, for all ranks in
  // order, and puts the receive_bytes[r] bytes from rank r into `output`, in
  // the same order. Zeros are legal; the two do not overlap.
  //   InvalidArgument  there is not one size for each rank, or the sizes do not
  //                    add up to `input`, or a rank sends another size than
  //                    expected here (some planes say so on all ranks)
  virtual absl::Status alltoall(std::span<const std::byte> input,
                                std::span<const std::size_t> send_bytes,
                                std::byte* output,
                                std::span<const std::size_t> receive_bytes,
                                Call call) = 0;

  // Returns OK on no rank before every rank has called it.
  virtual absl::Status barrier(Call call) = 0;
};

}  // namespace hvd::collective
