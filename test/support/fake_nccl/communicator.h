// SPDX-License-Identifier: Apache-2.0
// A fake communicator: one rank's state, and the part that its work in streams
// shares.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "test/support/fake_nccl/operation.h"
#include "test/support/fake_nccl/shared.h"
#include "test/support/fake_nccl/world.h"

namespace fake_nccl {

inline constexpr NcclOp kFirstOpOfUsers = 5;

// Shared by the communicator and its work in streams.
struct Connection {
  Connection(std::unique_ptr<Mapping> shared, int my_rank, int all_ranks,
             int on_device)
      : memory(std::move(shared)),
        rank(my_rank),
        ranks(all_ranks),
        device(on_device),
        exchange(*memory, my_rank, all_ranks, aborted) {}

  const std::unique_ptr<Mapping> memory;
  const int rank;
  const int ranks;
  const int device;
  std::atomic<bool> aborted{false};
  std::atomic<NcclResult> error{hvd::collective::kNcclSuccess};
  Exchange exchange;             // Used by the stream's thread.
  int done = 0;                  // Likewise.
  std::atomic<int> captured{0};  // Groups held by graphs.
};

}  // namespace fake_nccl

namespace hvd::collective {
struct NcclWindowOfNccl {
  std::uintptr_t memory;
  std::size_t bytes;
};

struct NcclCommOfNccl {
  std::shared_ptr<fake_nccl::Connection> connection;
  bool is_made = false;
  bool is_finalizing = false;
  bool is_finalized = false;
  device::CuStream stream = nullptr;  // The only stream it may use.
  int polls = 0;                      // Remaining "in progress" answers.
  std::vector<std::pair<device::CuStream, std::vector<fake_nccl::Operation>>>
      waiting;
  std::vector<NcclWindow> windows;
  std::vector<NcclWindow*> told;  // Receive handles that are not ready yet.
  // Changed under the lock of the world, because other ranks count them.
  std::map<NcclOp, double> factors;
  NcclOp next_op = fake_nccl::kFirstOpOfUsers;
  std::minstd_rand random;
};
}  // namespace hvd::collective

namespace fake_nccl {

bool exists(NcclComm comm);

// Whether the communicator accepts calls now.
bool is_usable(NcclComm comm);

}  // namespace fake_nccl
