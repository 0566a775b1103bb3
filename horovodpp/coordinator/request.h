// SPDX-License-Identifier: Apache-2.0
// A Request is what a rank tells its peers about something it has submitted:
// all they need in order to agree on the operation, and nothing about where the
// memory is.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "horovodpp/coordinator/wire.h"
#include "horovodpp/core/device.h"
#include "horovodpp/core/dtype.h"
#include "horovodpp/core/reduce_op.h"
#include "horovodpp/core/shape.h"

namespace hvd::coordinator {

// The numbers below 16 are Horovod's. They travel between ranks.
enum class RequestKind : std::uint8_t {
  kAllreduce = 0,
  kAllgather = 1,
  kBroadcast = 2,
  kJoin = 3,
  kAlltoall = 5,
  kBarrier = 6,
  kReducescatter = 7,
  kAddProcessSet = 16,
  kRemoveProcessSet = 17,
  kReplay = 18,
};

inline constexpr RequestKind kAllRequestKinds[] = {
    RequestKind::kAllreduce,        RequestKind::kAllgather,
    RequestKind::kBroadcast,        RequestKind::kJoin,
    RequestKind::kAlltoall,         RequestKind::kBarrier,
    RequestKind::kReducescatter,    RequestKind::kAddProcessSet,
    RequestKind::kRemoveProcessSet, RequestKind::kReplay};

// "allreduce", "allgather", …, as in messages and names.
std::string name_of(RequestKind kind);

// A process set: some ranks of the job, by number. Set 0 is all of them.
using ProcessSetId = std::uint32_t;
inline constexpr ProcessSetId kGlobalSet = 0;

// What identifies a submission across ranks. Equal names in different process
// sets have nothing to do with each other.
struct Key {
  ProcessSetId process_set = kGlobalSet;
  std::string name;

  // "'fc1.weight'", "'fc1.weight' of process set 2".
  std::string to_string() const;

  friend bool operator==(const Key&, const Key&) = default;
  friend bool operator<(const Key& a, const Key& b) {
    return std::tie(a.process_set, a.name) < std::tie(b.process_set, b.name);
  }
  template <typename H>
  friend H AbslHashValue(H h, const Key& key) {
    return H::combine(std::move(h), key.process_set, key.name);
  }
};

struct TensorSpec {
  DType dtype = DType::kF32;
  Shape shape;

  std::size_t bytes() const {
    return static_cast<std::size_t>(shape.num_elements()) * size_of(dtype);
  }
  // "float32[128,10]".
  std::string to_string() const;

  friend bool operator==(const TensorSpec&, const TensorSpec&) = default;
};

// One, mostly.
using TensorSpecs = absl::InlinedVector<TensorSpec, 1>;

// A shape with more is not sent.
inline constexpr std::size_t kMaxDimensions = 64;

struct Request {
  RequestKind kind = RequestKind::kAllreduce;
  Key key;
  // One; several of a group, which arrives as a whole or not at all; none of a
  // barrier, a join, a change of process sets, a replay of what was captured.
  TensorSpecs tensors = {};
  Device device = {};
  ReduceOp op = ReduceOp::kAverage;  // allreduce, reducescatter
  double prescale = 1.0;             // allreduce, reducescatter
  double postscale = 1.0;            // allreduce, reducescatter
  // An average divides by the ranks that have not joined, instead of by the
  // size of the process set.
  bool average_of_participants = false;
  int root = 0;  // broadcast: a rank of the job
  // The name is used this once (it was numbered, not given): no id is kept for
  // it.
  bool once = false;
  // Of tensors on a GPU: it is not done, but recorded into a graph.
  bool captured = false;
  std::vector<int> ranks = {};        // add_process_set: its members
  ProcessSetId subject = kGlobalSet;  // remove_process_set

  // Bytes this rank contributes.
  std::size_t bytes() const;

  friend bool operator==(const Request&, const Request&) = default;
};

// Of those who tell each other of it, none changes it.
using RequestPtr = std::shared_ptr<const Request>;

// Why the ranks cannot carry out these two requests as one operation; nullopt
// if they can. Names both ranks and both values:
//   "ranks disagree on 'fc1.weight': rank 0 sent float32[128,10], rank 3 sent
//    float32[128,12]; submit the same shape on every rank"
// The requests have equal keys.
std::optional<std::string> find_mismatch(int rank_a, const Request& a,
                                         int rank_b, const Request& b);

// Whether two requests of one kind differ in nothing but, of an allgather or
// alltoall, the first dimension, which may change from call to call.
bool differ_in_rows_at_most(const Request& a, const Request& b);

// Whether a request that was agreed on as `agreed` may be repeated as `now`
// without asking the peers again.
inline bool is_repetition(const Request& agreed, const Request& now) {
  return agreed == now || differ_in_rows_at_most(agreed, now);
}

void encode(const Request& request, WireWriter& writer);

// Fails the reader on anything a Request cannot be: unknown numbers, a shape
// that is negative or overflows, more than there is room for.
Request decode_request(WireReader& reader);

}  // namespace hvd::coordinator
