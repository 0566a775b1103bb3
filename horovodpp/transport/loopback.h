// SPDX-License-Identifier: Apache-2.0
// A LoopbackWorld is a job whose ranks are threads of one process: the
// Communicators it hands out talk through memory. For tests, and for programs
// that want ranks without processes.
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
    // Pretends that each group of so many ranks is a node of its own; 0: one
    // node.
    int ranks_per_node = 0;
  };

  explicit LoopbackWorld(int size) : LoopbackWorld(size, Options()) {}
  LoopbackWorld(int size, Options options);
  ~LoopbackWorld();  // After the communicators.
  LoopbackWorld(const LoopbackWorld&) = delete;
  LoopbackWorld& operator=(const LoopbackWorld&) = delete;

  // The end of `rank`, 0 <= rank < size; each is handed out once.
  std::unique_ptr<Communicator> communicator(int rank);

  // Lets `rank` appear dead: peers are told through on_peer_lost, and nothing
  // it sends from now on arrives. Thread-safe.
  void kill(int rank,
            const std::string& how = "was killed by signal 9 (SIGKILL)");

 private:
  std::shared_ptr<LoopbackShared> shared_;
};

}  // namespace hvd::transport
