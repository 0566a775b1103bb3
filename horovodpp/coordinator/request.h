// A Request is what a rank tells its peers about a tensor it has submitted: all
// they need in order to agree on the operation, and nothing about where the
// memory is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "horovodpp/coordinator/wire.h"
#include "horovodpp/core/device.h"
#include "horovodpp/core/dtype.h"
#include "horovodpp/core/reduce_op.h"
#include "horovodpp/core/shape.h"

namespace hvd::coordinator {

// The numbers are Horovod's, and travel between ranks.
enum class RequestKind : std::uint8_t {
  kAllreduce = 0,
  kAllgather = 1,
  kBroadcast = 2,
  kBarrier = 6,
};

// "allreduce", "allgather", …, as in messages and names.
std::string name_of(RequestKind kind);

// A shape with more is not sent.
inline constexpr std::size_t kMaxDimensions = 64;

struct Request {
  RequestKind kind = RequestKind::kAllreduce;
  std::string name;
  DType dtype = DType::kF32;
  Shape shape = Shape({0});
  Device device;
  ReduceOp op = ReduceOp::kAverage;  // allreduce
  double prescale = 1.0;             // allreduce
  double postscale = 1.0;            // allreduce
  int root = 0;                      // broadcast
  // The name is used this once (it was numbered, not given): no id is kept for
  // it.
  bool once = false;

  // Bytes this rank contributes.
  std::size_t bytes() const {
    return static_cast<std::size_t>(shape.num_elements()) * size_of(dtype);
  }

  friend bool operator==(const Request&, const Request&) = default;
};

// Why the ranks cannot carry out these two requests as one operation; nullopt
// if they can. Names both ranks and both values:
//   "ranks disagree on 'fc1.weight': rank 0 sent float32[128,10], rank 3 sent
//    float32[128,12]; submit the same shape on every rank"
// The requests have equal names.
std::optional<std::string> find_mismatch(int rank_a, const Request& a,
                                         int rank_b, const Request& b);

// Whether a request that was agreed on as `agreed` may be repeated as `now`
// without asking the peers again: everything equal, but for the first dimension
// of an allgather, which may change from call to call.
bool is_repetition(const Request& agreed, const Request& now);

void encode(const Request& request, WireWriter& writer);

// Fails the reader on anything a Request cannot be: unknown numbers, a shape
// that is negative or overflows.
Request decode_request(WireReader& reader);

}  // namespace hvd::coordinator
