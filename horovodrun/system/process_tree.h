// SPDX-License-Identifier: Apache-2.0
// The processes below this one: finds and ends them, and tells where a process
// waits that SIGKILL does not end.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace hvd::launcher {

// From now on descendants whose parent ends become children of this process, so
// that none can escape.
void adopt_orphans();

// All processes that live at one moment, zombies excluded.
class ProcessTree {
 public:
  ProcessTree();

  // The descendants of a process.
  std::vector<pid_t> below(pid_t ancestor) const;

 private:
  std::multimap<pid_t, pid_t> children_;  // By parent.
};

// The current descendants of this process.
std::vector<pid_t> descendants();

// How long to wait for processes after SIGKILL. A process that waits in the
// kernel for a hung driver or file server does not end. A process that frees
// much memory uses CPU time meanwhile.
class KillTimeout {
 public:
  static constexpr std::chrono::milliseconds kTimeout{5000};
  static constexpr std::chrono::milliseconds kMaxTimeout{60000};

  // `timeout` is for processes that use no CPU time; kMaxTimeout for all
  // others.
  explicit KillTimeout(std::chrono::milliseconds timeout = kTimeout)
      : timeout_(timeout) {}

  // Poll it often, with the remaining processes.
  bool is_over(const std::vector<pid_t>& pids);

 private:
  const std::chrono::milliseconds timeout_;
  const std::chrono::steady_clock::time_point began_ =
      std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point moved_at_ = began_;
  std::size_t count_ = 0;
  std::int64_t ticks_ = 0;
};

struct Killed {
  int found = 0;              // Alive at first.
  std::vector<pid_t> left{};  // SIGKILL did not end them within the timeout.
};

// Sends SIGKILL to all descendants until none is left that it can end, and
// reaps those that are children of this process.
Killed kill_descendants(
    std::chrono::milliseconds timeout = KillTimeout::kTimeout);

// Precedes the text below in messages about a process.
inline constexpr char kKillIsNoEnd[] = "SIGKILL does not end it, and its ";

// Describes a thread of the process, preferably an uninterruptible one: "thread
// 4711 is in state D (waits in the kernel), in nfs_wait_bit_killable, system
// call 0". The text is shorter if the system gives less information. The call
// does not block.
std::string where_it_waits(pid_t pid);

}  // namespace hvd::launcher
