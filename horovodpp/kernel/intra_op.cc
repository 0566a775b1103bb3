// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/kernel/intra_op.h"

#include <dlfcn.h>

#include <atomic>
#include <initializer_list>

#include "horovodpp/core/thread/threads.h"

namespace hvd::autograd {

namespace {

// The BLAS's functions, looked up at run time: each BLAS names them differently.
void* found_function(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (void* found = ::dlsym(RTLD_DEFAULT, name)) return found;
  }
  return nullptr;
}

int blas_threads() {
  static const auto get = reinterpret_cast<int (*)()>(
      found_function({"openblas_get_num_threads", "MKL_Get_Max_Threads",
                      "bli_thread_get_num_threads"}));
  return get == nullptr ? 0 : get();
}

}  // namespace

bool set_blas_threads(int threads) {
  static const auto set = reinterpret_cast<void (*)(int)>(
      found_function({"openblas_set_num_threads", "MKL_Set_Num_Threads",
                      "bli_thread_set_num_threads"}));
  if (set != nullptr) set(threads);
  return set != nullptr;
}

BlasOnOneThread::BlasOnOneThread(bool applies) {
  const int threads = applies ? blas_threads() : 0;
  if (threads > 1 && set_blas_threads(1)) before_ = threads;
}

BlasOnOneThread::~BlasOnOneThread() {
  if (before_ == 0) return;
  const int chosen = chosen_num_threads();
  set_blas_threads(chosen == 0 ? before_ : chosen);
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
