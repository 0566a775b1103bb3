// SPDX-License-Identifier: Apache-2.0
// What a caller may say about a collective, filled in by name:
//
//   job.allreduce_async_(grad, {.name = "fc1.weight", .op = ReduceOp::kSum});
//
// All of it is equal on all ranks of the process set, but for the splits of an
// alltoall, and for `keep_alive`: what the tensors' memory belongs to, where it
// may go before the operation has ended. It is let go on any thread, a little
// after the outcome is there; its end must not throw.
//
// `stream` is for tensors on a GPU: the stream (a cudaStream_t; nullptr: the legacy
// default stream) that produces them. The operation comes after all that is in it
// when it is submitted. When its future is ready, so are its results; a stream can come
// behind them earlier, by Future::wait(stream).
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "horovodpp/core/buffer.h"
#include "horovodpp/core/export.h"
#include "horovodpp/core/reduce_op.h"
#include "horovodpp/runtime/settings/process_set.h"

namespace HVD_EXPORT hvd {

struct AllreduceOptions {
  // Of a group: the group's. Empty: numbered, per operation and process set, in
  // the order of calls.
  std::string name = {};
  // Adasum: of each tensor by itself, floating-point only; ranks that have
  // joined contribute zeros, which change nothing.
  ReduceOp op = ReduceOp::kAverage;
  double prescale_factor = 1.0;   // Applied before the reduction,
  double postscale_factor = 1.0;  // and after it.
  // Where ranks have joined: an average divides by the ranks that have not,
  // instead of by all.
  bool average_of_participants = false;
  ProcessSet process_set = ProcessSet::global();
  std::shared_ptr<const void> keep_alive = nullptr;
  void* stream = nullptr;
};

struct ReducescatterOptions {
  std::string name = {};
  // Any but Adasum.
  ReduceOp op = ReduceOp::kAverage;
  double prescale_factor = 1.0;
  double postscale_factor = 1.0;
  bool average_of_participants = false;
  ProcessSet process_set = ProcessSet::global();
  std::shared_ptr<const void> keep_alive = nullptr;
  void* stream = nullptr;
};

struct AllgatherOptions {
  std::string name = {};
  ProcessSet process_set = ProcessSet::global();
  std::shared_ptr<const void> keep_alive = nullptr;
  void* stream = nullptr;
};

struct BroadcastOptions {
  std::string name = {};
  ProcessSet process_set = ProcessSet::global();
  std::shared_ptr<const void> keep_alive = nullptr;
  void* stream = nullptr;
};

struct AlltoallOptions {
  std::string name = {};
  // Rows of the first dimension for each rank of the set, in its order; rows
  // that are left over stay here. Empty: equally many for each.
  std::vector<std::int64_t> splits = {};
  ProcessSet process_set = ProcessSet::global();
  std::shared_ptr<const void> keep_alive = nullptr;
  void* stream = nullptr;
};

struct AlltoallResult {
  // What the ranks sent here, in their order.
  Buffer tensor = {};
  // Rows that came from each of them.
  std::vector<std::int64_t> received_splits = {};
};

}  // namespace hvd
