// SPDX-License-Identifier: Apache-2.0
// A LoopbackWorld is a job whose ranks are threads of one process. Its
// Communicators exchange data through memory. For tests, and for programs that
// want ranks without processes.
//
//   LoopbackWorld world(4);
//   std::thread rank0([&] { run(world.communicator(0)); }); ...
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "horovodpp/transport/communicator.h"

namespace hvd::transport {

class LoopbackShared;

class LoopbackWorld {
 public:
  struct Options {
    // Treats each group of this many ranks as a node of its own; 0: one node.
    int ranks_per_node = 0;
  };

  explicit LoopbackWorld(int size) : LoopbackWorld(size, Options()) {}
  LoopbackWorld(int size, Options options);
  ~LoopbackWorld();  // Destroy the communicators first.
  LoopbackWorld(const LoopbackWorld&) = delete;
  LoopbackWorld& operator=(const LoopbackWorld&) = delete;

  // The communicator of `rank`, 0 <= rank < size; call once for each rank.
  std::unique_ptr<Communicator> communicator(int rank);

  // Makes `rank` appear dead: peers are told through on_peer_lost, and nothing
  // that it sends from now on arrives. Thread-safe.
  void kill(int rank,
            const std::string& how = "was killed by signal 9 (SIGKILL)");

 private:
  std::shared_ptr<LoopbackShared> shared_;
};

// The communicator of a process that was started alone: a job of one rank,
// without a launcher and without MPI.
std::unique_ptr<Communicator> make_solo_communicator();

}  // namespace hvd::transport
