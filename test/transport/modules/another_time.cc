// SPDX-License-Identifier: Apache-2.0
// An MPI module of an older horovodpp, of which only the version is read.
#include "horovodpp/transport/loading/mpi_entry.h"

extern "C" const void* hvd_mpi_entry();

const void* hvd_mpi_entry() {
  static const hvd::transport::MpiEntry entry = {.version = "0.0.1"};
  return &entry;
}
