// Puts the number of threads (core/threads.h) in force in the libraries that
// compute: the BLAS, and those that use OpenMP, whose number is that of the
// calling thread.
//
// Thread-safe. Cheap where nothing has changed.
#pragma once

namespace hvd::autograd {

// To be called before a product of the BLAS, and before a routine of OpenMP's.
void apply_threads_to_blas();
void apply_threads_to_openmp();

}  // namespace hvd::autograd
