// A DataPlane moves tensors between ranks by one mechanism. All planes keep one
// contract, held to it by one conformance suite.
//
// Every rank of the plane makes the same calls in the same order, with equal
// tags, counts, dtypes and options; agreeing on that is the coordinator's
// business. A call blocks until this rank's results are in place; while it
// waits for peers it asks `call.watch`, and gives up with the watch's error. A
// plane that has failed once is not used again.
//
// Results are bit-equal on all ranks and from run to run. f16 and bf16 are
// accumulated in float, integers that are averaged or scaled in a type wide
// enough for the exact sum; other integer sums and products wrap. Not
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

// One tensor's part in a fused call, in elements. `output` may be `input`;
// otherwise the two do not overlap.
struct Piece {
  const void* input = nullptr;
  void* output = nullptr;
  std::int64_t count = 0;
};

// result = postscale * op over ranks of (prescale * input). Integers are scaled
// in double, truncated toward zero and held at the limits of their type (NaN
// becomes 0); an average of integers is the exact sum divided, rounded toward
// zero. Min and max hand NaN on. For bool: min and product are "and", max and
// sum are "or".
struct Reduction {
  DType dtype = DType::kF32;
  ReduceOp op = ReduceOp::kSum;
  double prescale = 1.0;
  double postscale = 1.0;
};

// OK if the reduction means something.
//   InvalidArgument  an average or a scale of bool; Adasum, for which there are
//                    planes of their own
absl::Status check(const Reduction& reduction);

struct Call {
  transport::DataTag tag;
  transport::Watch& watch;
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

  // Reduces all pieces, elementwise over the ranks, in one go.
  virtual absl::Status allreduce(std::span<const Piece> pieces,
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

  // Returns OK on no rank before every rank has called it.
  virtual absl::Status barrier(Call call) = 0;
};

}  // namespace hvd::collective
