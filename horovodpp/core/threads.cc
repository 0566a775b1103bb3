#include "horovodpp/core/threads.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <thread>

namespace hvd {
namespace {

std::atomic<int> set_threads{0};
std::atomic<int> default_threads{0};

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

int usable_cores() {
  cpu_set_t cores;
  if (::sched_getaffinity(0, sizeof(cores), &cores) == 0) {
    return std::max(CPU_COUNT(&cores), 1);
  }
  // More cores than the set has room for.
  return std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
}

}  // namespace hvd
