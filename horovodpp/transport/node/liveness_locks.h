// SPDX-License-Identifier: Apache-2.0
// LivenessLocks detect early that another process of this node dies. A
// PeerWatch notices only after the system has freed the process's memory, which
// takes a tenth of a second per gigabyte.
//
// A thread of each rank holds a word in shared memory. The kernel marks the
// word when the thread ends without releasing it (a robust futex,
// set_robust_list(2)).
//
// LivenessLocks only speed up detection: without futex_waitv (Linux 5.16), or
// without the thread, nothing is reported.
//
// The callback runs on a thread of this object, which lives as long as the
// object.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <thread>
#include <vector>

namespace hvd::transport {

class LivenessLocks {
 public:
  // Called with the local rank in the shared memory.
  using Callback = std::function<void(int local_rank)>;

  static std::size_t bytes_needed(int ranks);

  // `memory` starts as zeros before the first rank uses it, and outlives this.
  // Calls `dies` once for each other rank whose process dies, but not for a
  // rank that has destroyed its LivenessLocks. From now on the other ranks can
  // detect this rank's death.
  LivenessLocks(std::span<std::byte> memory, int local_rank, int ranks,
                Callback dies);
  ~LivenessLocks();
  LivenessLocks(const LivenessLocks&) = delete;
  LivenessLocks& operator=(const LivenessLocks&) = delete;

 private:
  struct Line;
  using Word = std::atomic<std::uint32_t>;

  void run();
  void acquire();
  void release();
  // Reports new deaths. Returns the words of the ranks that are still watched.
  std::vector<std::uint32_t> look();
  bool wait(const std::vector<std::uint32_t>& seen);

  Line* const lines_;
  const int local_rank_;
  const int ranks_;
  const Callback dies_;
  std::vector<bool> is_over_;  // By rank: died, or released its word.
  Word holds_{0};
  Word stops_{0};
  std::thread thread_;
};

}  // namespace hvd::transport
