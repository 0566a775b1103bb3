// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/thread/threads.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>

namespace hvd {
namespace {

std::atomic<int> set_threads{0};
std::atomic<int> default_threads{0};

int cores_of(pid_t process) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (::sched_getaffinity(process, sizeof(cores), &cores) == 0) {
    return std::max(CPU_COUNT(&cores), 1);
  }
  // More cores than the set holds, or another user's process.
  return process != 0
             ? 1
             : std::max(static_cast<int>(std::thread::hardware_concurrency()),
                        1);
}

}  // namespace

void set_num_threads(int threads) { set_threads = std::max(threads, 1); }

void set_default_num_threads(int threads) {
  default_threads = std::max(threads, 1);
}

int chosen_num_threads() {
  const int set = set_threads;
  return set != 0 ? set : default_threads.load();
}

int get_num_threads() {
  const int chosen = chosen_num_threads();
  return chosen != 0 ? chosen : usable_cores();
}

int usable_cores() { return cores_of(0); }

int cores_for_ranks() { return std::max(cores_of(0), cores_of(::getppid())); }

bool have_spare_cores(int ranks, int threads) {
  return cores_for_ranks() / std::max(1, ranks) > threads;
}

}  // namespace hvd
