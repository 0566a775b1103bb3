// SPDX-License-Identifier: Apache-2.0
#include "test/support/fake_nccl/launch.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace fake_nccl {
namespace {

using namespace hvd::collective;  // NOLINT: NCCL's numbers.

// A group in a stream. It runs once, or repeatedly in a graph.
struct Launch {
  std::shared_ptr<Connection> by;
  std::vector<Operation> group;
  bool is_captured;

  static void release(void* argument) {
    const std::unique_ptr<Launch> launch(static_cast<Launch*>(argument));
    if (launch->is_captured) --launch->by->captured;
  }

  static int run(void* argument) {
    const auto* const launch = static_cast<const Launch*>(argument);
    Connection& by = *launch->by;
    const unsigned longest = world().delay.load();
    if (longest > 0) {
      thread_local std::minstd_rand random(static_cast<unsigned>(by.rank + 1));
      usleep(static_cast<useconds_t>(random()) % (longest + 1));
    }
    const int n = by.done++;
    const bool errs = has_fault("async error", by.rank, n);
    if (errs) by.error.store(kNcclSystemError);
    if (errs || has_fault("hang", by.rank, n)) {
      while (!by.aborted.load()) usleep(50);
    }
    if (!by.aborted.load() && !by.exchange.run(launch->group) &&
        !by.aborted.load()) {
      by.error.store(kNcclInvalidUsage);
    }
    return 0;
  }
};

struct Grouped {
  NcclComm comm;
  CuStream stream;
  Operation operation;
};
thread_local int group_depth = 0;
thread_local std::vector<Grouped> grouped;
thread_local NcclResult group_error = kNcclSuccess;

bool is_capturing(CuStream stream) {
  return of_cuda<decltype(fake_cuda_is_capturing)>("fake_cuda_is_capturing")(
             stream) != 0;
}

// Like NCCL, may still be busy when a call returns.
NcclResult under_way(NcclComm comm) {
  comm->polls = static_cast<int>(comm->random() % 3);
  if (comm->polls > 0) return kNcclInProgress;
  launch_waiting(comm);
  return kNcclSuccess;
}

NcclResult end_group() {
  if (std::exchange(group_error, kNcclSuccess) != kNcclSuccess) {
    grouped.clear();
    return kNcclInvalidUsage;
  }
  std::set<NcclComm> comms;
  for (Grouped& one : std::exchange(grouped, {})) {
    if (!is_capturing(one.stream)) {
      if (one.comm->stream != nullptr && one.comm->stream != one.stream) {
        return kNcclInvalidUsage;  // Legal in NCCL, but we never do it.
      }
      one.comm->stream = one.stream;
    }
    auto& waiting = one.comm->waiting;
    if (comms.insert(one.comm).second) waiting.push_back({one.stream, {}});
    waiting.back().second.push_back(one.operation);
  }
  NcclResult result = kNcclSuccess;
  for (NcclComm comm : comms) result = std::max(result, under_way(comm));
  return result;
}

}  // namespace

void launch_waiting(NcclComm comm) {
  for (auto& [stream, group] : std::exchange(comm->waiting, {})) {
    const bool captured = is_capturing(stream);
    if (captured) ++comm->connection->captured;
    auto* const launch =
        new Launch{comm->connection, std::move(group), captured};
    of_cuda<decltype(fake_cuda_put_owned)>("fake_cuda_put_owned")(
        stream, &Launch::run, launch, &Launch::release);
  }
}

NcclResult refuse() {
  if (group_depth > 0) group_error = kNcclInvalidUsage;
  return kNcclInvalidArgument;
}

NcclResult add_to_group(NcclComm comm, CuStream stream,
                        const Operation& operation) {
  grouped.push_back({comm, stream, operation});
  return group_depth > 0 ? kNcclSuccess : end_group();
}

}  // namespace fake_nccl

using namespace fake_nccl;  // NOLINT: C follows.

extern "C" {

NcclResult ncclGroupStart() {
  ++group_depth;
  return kNcclSuccess;
}

NcclResult ncclGroupEnd() {
  if (group_depth == 0) return kNcclInvalidUsage;
  return --group_depth > 0 ? kNcclSuccess : end_group();
}

}  // extern "C"
