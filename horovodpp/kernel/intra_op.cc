// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/kernel/intra_op.h"

#include <dlfcn.h>

#include <atomic>

#include "horovodpp/core/thread/threads.h"

namespace hvd::autograd {

bool set_blas_threads(int threads) {
  // Looked up at run time: each BLAS names this function differently.
  for (const char* name : {"openblas_set_num_threads", "MKL_Set_Num_Threads",
                           "bli_thread_set_num_threads"}) {
    if (void* found = ::dlsym(RTLD_DEFAULT, name)) {
      reinterpret_cast<void (*)(int)>(found)(threads);
      return true;
    }
  }
  return false;
}

void apply_threads_to_blas() {
  static std::atomic<int> applied{0};
  const int wanted = chosen_num_threads();
  if (wanted == 0 || applied.load(std::memory_order_relaxed) == wanted) return;
  set_blas_threads(wanted);
  applied.store(wanted, std::memory_order_relaxed);
}

void apply_threads_to_openmp() {
  // Looked up at run time: the process may have none or one of several.
  static const auto set = reinterpret_cast<void (*)(int)>(
      ::dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
  static thread_local int applied = 0;
  const int wanted = chosen_num_threads();
  if (wanted == 0 || applied == wanted || set == nullptr) return;
  set(wanted);
  applied = wanted;
}

}  // namespace hvd::autograd
