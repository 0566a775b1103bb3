// SPDX-License-Identifier: Apache-2.0
// A Submission is a caller's request: the part its peers receive (Request), and
// the local memory and completion.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "horovodpp/coordinator/protocol/request.h"
#include "horovodpp/core/memory/buffer.h"
#include "horovodpp/core/tensor_view.h"
#include "horovodpp/core/thread/enqueued.h"
#include "horovodpp/device/cuda_graph.h"
#include "horovodpp/device/cuda_stream.h"

namespace hvd::coordinator {

struct QueuedName;

// The results of a completed operation.
struct Results {
  // Results that the runtime allocates: one for each tensor of an allgather or
  // reducescatter without outputs, or of an alltoall.
  std::vector<Buffer> tensors = {};
  std::vector<std::int64_t> received_splits = {};  // alltoall
  // join: the rank that joined last. add_process_set: the number of the new
  // set. receive: the rank that has sent.
  std::int64_t number = 0;
};

// The source of a receive that takes messages of every rank.
inline constexpr int kAnyRank = -1;

// The id of no operation.
inline constexpr std::uint32_t kNoId = ~std::uint32_t{0};

using Inputs = absl::InlinedVector<ConstTensorView, 1>;
using Outputs = absl::InlinedVector<TensorView, 1>;

struct Submission {
  Request request = {};
  // One for each tensor of the request.
  Inputs inputs = {};
  // Destination of the results; empty if the runtime allocates them.
  Outputs outputs = {};
  // alltoall: rows of the first dimension for each rank of the set.
  std::vector<std::int64_t> splits = {};
  // send, receive: the other rank, of the job (kAnyRank: any), and the tag.
  int peer = 0;
  int tag = 0;
  // Owner of the memory if it was handed over, kept until `done` was called.
  // nullptr: the inputs and outputs are borrowed.
  std::shared_ptr<const void> keep_alive = nullptr;
  // GPU tensors: the caller's stream (a CUstream; nullptr: the legacy default
  // stream), and the event in it that precedes the operation.
  void* stream = nullptr;
  std::shared_ptr<const device::CudaEvent> after = nullptr;
  // replay: the captured graph.
  std::shared_ptr<const device::CudaGraph> graph = nullptr;
  // Called with the outcome, from which it may move.
  std::function<void(absl::StatusOr<Results>&&)> done = {};
  // GPU tensors: called if work continues on the GPU after execution here, with
  // that work and its future results. `is_enqueued` records the call for the
  // executing thread.
  std::function<void(const std::shared_ptr<const Enqueued>&, const Results&)>
      enqueued = {};
  bool is_enqueued = false;

  // Used by the TensorQueue: the entry of the name, and whether the entry is
  // kept between submissions. While in flight, the submission is kept alive by
  // `in_flight` and followed in the list by `next`.
  QueuedName* name = nullptr;
  bool keeps_name = false;
  // When it was pushed, in ticks (core/trace/ticks.h); 0: unknown.
  std::uint64_t pushed_at = 0;
  std::shared_ptr<Submission> in_flight = nullptr;
  Submission* next = nullptr;

  // Used by the RankProtocol: the id of the agreed operation that this repeats.
  std::uint32_t repeats = kNoId;
};

// Shared by waiting callers and the thread that executes the operation.
using SubmissionPtr = std::shared_ptr<Submission>;

}  // namespace hvd::coordinator
