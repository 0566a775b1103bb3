// SPDX-License-Identifier: Apache-2.0
// Creates, queries and ends communicators.
#include "test/support/fake_nccl/communicator.h"

#include <unistd.h>

#include <cstdio>
#include <mutex>
#include <set>
#include <utility>

#include "test/support/fake_nccl/launch.h"
#include "test/support/fake_nccl/windows.h"

namespace fake_nccl {

using namespace hvd::collective;  // NOLINT: NCCL's numbers.

bool exists(NcclComm comm) {
  if (of_cuda<decltype(fake_cuda_has_gone)>("fake_cuda_has_gone")() != 0) {
    static_cast<void>(std::fputs("NCCL is used after CUDA has gone\n", stderr));
    _exit(70);
  }
  const std::lock_guard lock(world().mutex);
  return world().comms.count(comm) > 0;
}

bool is_usable(NcclComm comm) {
  return exists(comm) && comm->is_made && comm->polls == 0 &&
         comm->told.empty() && !comm->is_finalizing;
}

namespace {

constexpr int kMaxLooksForGraphs = 20'000;

// Whether all ranks have joined, each with its own GPU; an error if ranks
// share, or threads of one process do: NCCL's collectives would hang.
NcclResult look_at_others(Connection& connection) {
  if (has_fault("init hang", connection.rank, 0)) return kNcclInProgress;
  if (has_fault("init error", connection.rank, 0)) return kNcclSystemError;
  const bool may_share =
      number_from_environment("NCCL_MULTI_RANK_GPU_ENABLE", 0) != 0 &&
      number_from_environment("FAKE_NCCL_VERSION", 22803) >= 23000;
  std::set<int> gpus;
  std::set<std::pair<int, int>> places;  // Processes and their GPUs.
  for (int rank = 0; rank < connection.ranks; ++rank) {
    const int gpu = (*connection.memory)->slots[rank].joined.load();
    if (gpu == 0) return kNcclInProgress;
    if (!gpus.insert(gpu).second && !may_share) return kNcclInvalidUsage;
    const int process = (*connection.memory)->slots[rank].process.load();
    if (!places.emplace(process, gpu).second) return kNcclInvalidUsage;
  }
  return kNcclSuccess;
}

bool all_have_left(Connection& connection) {
  for (int rank = 0; rank < connection.ranks; ++rank) {
    if ((*connection.memory)->slots[rank].left.load() == 0) return false;
  }
  return true;
}

}  // namespace
}  // namespace fake_nccl

using namespace fake_nccl;  // NOLINT: C follows.

extern "C" {

NcclResult ncclGetVersion(int* version) {
  *version = number_from_environment("FAKE_NCCL_VERSION", 22803);
  return kNcclSuccess;
}

const char* ncclGetErrorString(NcclResult result) {
  switch (result) {
    case kNcclSystemError:
      return "unhandled system error";
    case kNcclInvalidUsage:
      return "invalid usage";
    case kNcclInvalidArgument:
      return "invalid argument";
    case kNcclRemoteError:
      return "remote process exited or there was a network error";
    default:
      return "another error";
  }
}

const char* ncclGetLastError(NcclComm) { return "as the fake sees it"; }

NcclResult ncclGetUniqueId(NcclUniqueId* id) {
  return Mapping::make(id) ? kNcclSuccess : kNcclSystemError;
}

NcclResult ncclCommInitRankConfig(NcclComm* comm, int ranks, NcclUniqueId id,
                                  int rank, NcclConfig* config) {
  const int device =
      of_cuda<decltype(fake_cuda_current_device)>("fake_cuda_current_device")();
  if (device < 0 || rank < 0 || rank >= ranks || ranks > kMostRanks ||
      config->magic != kNcclMagic || config->blocking != 0) {
    return kNcclInvalidArgument;
  }
  std::unique_ptr<Mapping> memory = Mapping::open(id);
  if (memory == nullptr) return kNcclSystemError;
  auto* const made = new hvd::collective::NcclCommOfNccl;
  made->connection =
      std::make_shared<Connection>(std::move(memory), rank, ranks, device);
  made->random.seed(++world().made);
  (*made->connection->memory)->slots[rank].process.store(getpid());
  (*made->connection->memory)->slots[rank].joined.store(device + 1);
  {
    const std::lock_guard lock(world().mutex);
    world().comms.insert(made);
  }
  *comm = made;
  return kNcclInProgress;
}

NcclResult ncclCommGetAsyncError(NcclComm comm, NcclResult* error) {
  if (!exists(comm)) return kNcclInvalidArgument;
  Connection& connection = *comm->connection;
  *error = kNcclSuccess;
  if (!comm->is_made) {
    *error = look_at_others(connection);
    comm->is_made = *error == kNcclSuccess;
  } else if (comm->polls > 0) {
    *error = kNcclInProgress;
    if (--comm->polls == 0) launch_waiting(comm);
  } else if (!comm->told.empty()) {
    *error = look_at_windows(comm);
  } else if (const NcclResult now = connection.error.load()) {
    *error = now;
  } else if (comm->is_finalizing && !comm->is_finalized) {
    comm->is_finalized = all_have_left(connection);
    if (!comm->is_finalized) *error = kNcclInProgress;
  }
  return kNcclSuccess;
}

NcclResult ncclCommFinalize(NcclComm comm) {
  if (!is_usable(comm)) return kNcclInvalidUsage;
  comm->is_finalizing = true;
  (*comm->connection->memory)->slots[comm->connection->rank].left.store(1);
  return kNcclInProgress;
}

// Frees GPU memory, for which CUDA waits for all work of the GPU.
NcclResult ncclCommAbort(NcclComm comm) {
  if (!exists(comm)) return kNcclInvalidArgument;
  {
    const std::lock_guard lock(world().mutex);
    if (world().comms.erase(comm) == 0) return kNcclInvalidArgument;
  }
  comm->connection->aborted.store(true);
  of_cuda<decltype(fake_cuda_wait_for_device)>("fake_cuda_wait_for_device")(
      comm->connection->device);
  // NCCL, too, waits for graph launches that use the communicator. Unlike this
  // fake, NCCL waits forever for the graphs themselves.
  for (int looks = 0; comm->connection->captured.load() > 0; ++looks) {
    if (looks == kMaxLooksForGraphs) {
      ++world().ended_too_early;
      break;
    }
    usleep(100);
  }
  for (NcclWindow window : comm->windows) {
    if (window != nullptr) release(window);
  }
  delete comm;
  return kNcclSuccess;
}

NcclResult ncclCommDestroy(NcclComm comm) {
  if (!exists(comm) || !comm->is_finalized) return kNcclInvalidUsage;
  return ncclCommAbort(comm);
}

}  // extern "C"
