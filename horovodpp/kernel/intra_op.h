// SPDX-License-Identifier: Apache-2.0
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

// Tells the BLAS how many threads a product may use, in this process. False if it
// has none of the functions by which the common ones are told.
bool set_blas_threads(int threads);

}  // namespace hvd::autograd
