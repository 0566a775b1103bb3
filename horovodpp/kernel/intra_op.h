// SPDX-License-Identifier: Apache-2.0
// Passes the number of threads in force (core/thread/threads.h) on to the compute
// libraries: the BLAS, and OpenMP libraries, which have one number per calling
// thread.
//
// Thread-safe. Cheap if nothing has changed.
#pragma once

namespace hvd::autograd {

// Call before a BLAS product, and before an OpenMP routine, respectively.
void apply_threads_to_blas();
void apply_threads_to_openmp();

// Sets the number of threads for BLAS products in this process. Returns false
// if the BLAS has none of the known functions for that.
bool set_blas_threads(int threads);

// In its scope, each BLAS product of the process uses one thread: for loops
// whose threads compute products. If `applies` is false, it changes nothing.
class BlasOnOneThread {
 public:
  explicit BlasOnOneThread(bool applies);
  ~BlasOnOneThread();
  BlasOnOneThread(const BlasOnOneThread&) = delete;
  BlasOnOneThread& operator=(const BlasOnOneThread&) = delete;

 private:
  int before_ = 0;  // 0: unchanged.
};

}  // namespace hvd::autograd
