// SPDX-License-Identifier: Apache-2.0
// LifeLines tell that another process of this node is dying. A PeerWatch hears of that
// when the system has taken the process's memory apart, which takes a tenth of a
// second for each gigabyte; these are told before: a thread of each rank holds a word
// in memory of all, which the kernel marks where the thread ends without having let go
// (a robust futex, set_robust_list(2)).
//
// They are no more than a faster way: where the system lacks what it takes
// (futex_waitv, Linux 5.16), or the thread, nothing is told.
//
// The callback comes from a thread of its own, which lives as long as the object.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <thread>
#include <vector>

namespace hvd::transport {

class LifeLines {
 public:
  // Of the place among the ranks that share the memory.
  using Callback = std::function<void(int local_rank)>;

  static std::size_t bytes_needed(int ranks);

  // `memory` is zeros before the first rank comes, and outlives this. `dies` is called
  // once for each other rank whose process dies; not for one that has ended this.
  LifeLines(std::span<std::byte> memory, int local_rank, int ranks,
            Callback dies);
  ~LifeLines();
  LifeLines(const LifeLines&) = delete;
  LifeLines& operator=(const LifeLines&) = delete;

 private:
  struct Line;
  using Word = std::atomic<std::uint32_t>;

  void run();
  void take_hold();
  void let_go();
  // Tells of those that have died since. Those that are still to be watched, and what
  // their words are.
  std::vector<std::uint32_t> look();
  bool wait(const std::vector<std::uint32_t>& seen);

  Line* const lines_;
  const int local_rank_;
  const int ranks_;
  const Callback dies_;
  std::vector<bool> is_over_;  // By rank: it has died, or let go.
  Word stops_{0};
  std::thread thread_;
};

}  // namespace hvd::transport
