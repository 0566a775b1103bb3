// SPDX-License-Identifier: Apache-2.0
// The options of collectives, filled in by name:
//
//   job.allreduce_async_(grad, {.name = "fc1.weight", .op = ReduceOp::kSum});
//
// All options are equal on all ranks of the process set, except an alltoall's
// splits, `keep_alive` and `stream`. `keep_alive` owns the tensors' memory if
// that may be freed before the operation has ended. It is released on any
// thread, shortly after the outcome; its destructor must not throw.
//
// `stream` is for tensors on a GPU: the stream (a cudaStream_t; nullptr: the
// legacy default stream) that produces them. The operation follows all work in
// the stream at submission. When its future is ready, its results are, too.
// Future::wait(stream) orders a stream after the results earlier.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/core/memory/buffer.h"
#include "horovodpp/core/reduce_op.h"
#include "horovodpp/runtime/settings/process_set.h"

namespace HVD_EXPORT hvd {

struct AllreduceOptions {
  // The tensor's or the group's name. Empty: numbered, per operation and
  // process set, in call order.
  std::string name = {};
  // Adasum treats each tensor by itself, and takes floating-point types only.
  // Joined ranks contribute zeros, which have no effect.
  ReduceOp op = ReduceOp::kAverage;
  double prescale_factor = 1.0;   // Applied before the reduction.
  double postscale_factor = 1.0;  // Applied after it.
  // If ranks have joined: divide an average by the number of ranks that have
  // not, instead of by all.
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
  // Rows of the first dimension for each rank of the set, in its order. Rows
  // beyond the sum are not sent. Empty: equally many for each.
  std::vector<std::int64_t> splits = {};
  ProcessSet process_set = ProcessSet::global();
  std::shared_ptr<const void> keep_alive = nullptr;
  void* stream = nullptr;
};

// The options of a reduce to one rank, a gather and a scatter. The root's splits
// of a scatter count; without them it shares its rows as a reducescatter does.
using ReduceOptions = ReducescatterOptions;
using GatherOptions = AllgatherOptions;
using ScatterOptions = AlltoallOptions;

// Of a message between two ranks. A receive takes messages of its process set
// and tag alone.
struct MessageOptions {
  int tag = 0;
  ProcessSet process_set = ProcessSet::global();
  std::shared_ptr<const void> keep_alive = nullptr;
  void* stream = nullptr;
};

// The source of a receive that takes messages of every rank.
inline constexpr int kAnySource = -1;

struct AlltoallResult {
  // The received rows, in the order of their ranks.
  Buffer tensor = {};
  // The number of rows from each rank.
  std::vector<std::int64_t> received_splits = {};
};

}  // namespace hvd
