// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/system/usable_cores.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>

namespace hvd::launcher {

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  int cores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  std::ifstream limit("/sys/fs/cgroup/cpu.max");
  double quota = 0;
  double period = 0;
  if (limit >> quota >> period && quota > 0 && period > 0) {
    cores = std::min(cores, static_cast<int>(std::ceil(quota / period)));
  }
  return std::max(1, cores);
}

}  // namespace hvd::launcher
