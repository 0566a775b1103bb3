#include "horovodpp/kernel/intra_op.h"

#include <dlfcn.h>

#include <atomic>

#include "horovodpp/core/threads.h"
#include "horovodpp/kernel/blas.h"

namespace hvd::autograd {

void apply_threads_to_blas() {
  static std::atomic<int> applied{0};
  const int wanted = chosen_num_threads();
  if (wanted == 0 || applied.load(std::memory_order_relaxed) == wanted) return;
  blas::set_num_threads(wanted);
  applied.store(wanted, std::memory_order_relaxed);
}

void apply_threads_to_openmp() {
  // Looked up at run time: there may be none, or one of several.
  static const auto set = reinterpret_cast<void (*)(int)>(
      ::dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
  static thread_local int applied = 0;
  const int wanted = chosen_num_threads();
  if (wanted == 0 || applied == wanted || set == nullptr) return;
  set(wanted);
  applied = wanted;
}

}  // namespace hvd::autograd
