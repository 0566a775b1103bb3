// SPDX-License-Identifier: Apache-2.0
// A Request is the part of a submission that a rank sends to its peers: all
// data to agree on the operation, but no memory addresses.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "horovodpp/coordinator/protocol/request_kind.h"
#include "horovodpp/core/device.h"
#include "horovodpp/core/dtype.h"
#include "horovodpp/core/memory/wire.h"
#include "horovodpp/core/reduce_op.h"
#include "horovodpp/core/shape.h"

namespace hvd::coordinator {

// A process set: some ranks of the job, by number. Set 0 is all ranks.
using ProcessSetId = std::uint32_t;
inline constexpr ProcessSetId kGlobalSet = 0;

// Identifies a submission across ranks. Equal names in different process sets
// are unrelated.
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

// Usually one.
using TensorSpecs = absl::InlinedVector<TensorSpec, 1>;

// Shapes with more dimensions are refused.
inline constexpr std::size_t kMaxDimensions = 64;

struct Request {
  RequestKind kind = RequestKind::kAllreduce;
  Key key;
  // One tensor, or several for a group, which is complete or absent as a whole.
  // Empty for operations without tensors.
  TensorSpecs tensors = {};
  Device device = {};
  ReduceOp op = ReduceOp::kAverage;  // Of operations that reduce.
  double prescale = 1.0;             // Likewise.
  double postscale = 1.0;            // Likewise.
  // Average over the ranks that have not joined instead of the whole set.
  bool average_of_participants = false;
  int root = 0;  // Of operations that have one: a rank of the job.
  // The name was generated and is used once: no id is kept for it.
  bool once = false;
  // GPU tensors: record into a graph instead of executing.
  bool captured = false;
  // add_process_set, new_process_set, free_process_set: the members, ascending.
  std::vector<int> ranks = {};
  // remove_process_set, free_process_set: the set.
  ProcessSetId subject = kGlobalSet;

  // Bytes this rank contributes.
  std::size_t bytes() const {
    std::size_t sum = 0;
    for (const TensorSpec& tensor : tensors) sum += tensor.bytes();
    return sum;
  }

  friend bool operator==(const Request&, const Request&) = default;
};

// Shared and immutable.
using RequestPtr = std::shared_ptr<const Request>;

// Why the ranks cannot execute these two requests as one operation; nullopt if
// they can. The requests have equal keys. Names both ranks and both values:
//   "ranks disagree on 'fc1.weight': rank 0 sent float32[128,10], rank 3 sent
//    float32[128,12]; submit the same shape on every rank"
std::optional<std::string> find_mismatch(int rank_a, const Request& a,
                                         int rank_b, const Request& b);

// Whether two requests of one kind differ at most in numbers of rows that may
// change from call to call.
bool differ_in_rows_at_most(const Request& a, const Request& b);

// Whether a request agreed on as `agreed` may be repeated as `now` without
// asking the peers again.
inline bool is_repetition(const Request& agreed, const Request& now) {
  return agreed == now || differ_in_rows_at_most(agreed, now);
}

void encode(const Request& request, WireWriter& writer);

// Fails the reader on an invalid Request: unknown numbers, a negative or
// overflowing shape, counts beyond the bytes left.
Request decode_request(WireReader& reader);

}  // namespace hvd::coordinator
