// SPDX-License-Identifier: Apache-2.0
// A Submission is what a caller asked for: the request its peers are told
// about, and the memory and completion they are not.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "horovodpp/coordinator/request.h"
#include "horovodpp/core/buffer.h"
#include "horovodpp/core/enqueued.h"
#include "horovodpp/core/tensor_view.h"
#include "horovodpp/device/cuda_graph.h"
#include "horovodpp/device/cuda_stream.h"

namespace hvd::coordinator {

struct QueuedName;

// What an operation has to say once it is done.
struct Results {
  // Where the runtime allocates: one for each tensor of an allgather or
  // reducescatter without outputs, or of an alltoall.
  std::vector<Buffer> tensors = {};
  std::vector<std::int64_t> received_splits = {};  // alltoall
  // The rank that joined last (join), the number of the set (add_process_set).
  std::int64_t number = 0;
};

// Of no operation.
inline constexpr std::uint32_t kNoId = ~std::uint32_t{0};

using Inputs = absl::InlinedVector<ConstTensorView, 1>;
using Outputs = absl::InlinedVector<TensorView, 1>;

struct Submission {
  Request request = {};
  // One for each tensor of the request.
  Inputs inputs = {};
  // Where the results go; empty where the runtime allocates them.
  Outputs outputs = {};
  // alltoall: rows of the first dimension for each rank of the set.
  std::vector<std::int64_t> splits = {};
  // What the memory belongs to, if it was handed over: kept until the outcome has
  // been told. nullptr: inputs and outputs are borrowed.
  std::shared_ptr<const void> keep_alive = nullptr;
  // On GPUs: the caller's stream (a CUstream; nullptr: the legacy default stream),
  // and the point in it that comes before the operation.
  void* stream = nullptr;
  std::shared_ptr<const device::CudaEvent> after = nullptr;
  // replay: of what was captured.
  std::shared_ptr<const device::CudaGraph> graph = nullptr;
  // Called with the outcome, of which it takes what it needs.
  std::function<void(absl::StatusOr<Results>&&)> done = {};
  // On GPUs, where the work goes on after it has been executed here: called before
  // that, with what goes on and what will have come of it. And that it was, for the
  // thread that executes.
  std::function<void(const std::shared_ptr<const Enqueued>&, const Results&)>
      enqueued = {};
  bool is_enqueued = false;

  // Of the TensorQueue: where its name stands, whether that is kept from one time
  // to the next, and what keeps it alive and follows it while it is in flight.
  QueuedName* name = nullptr;
  bool keeps_name = false;
  std::shared_ptr<Submission> in_flight = nullptr;
  Submission* next = nullptr;

  // Of the RankProtocol: the id of what was agreed on as this, which it repeats.
  std::uint32_t repeats = kNoId;
};

// Shared by those who wait for it to be executed and those who are told of its
// request.
using SubmissionPtr = std::shared_ptr<Submission>;

}  // namespace hvd::coordinator
