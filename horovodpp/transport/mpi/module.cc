// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/version.h"
#include "horovodpp/transport/loading/mpi_entry.h"
#include "horovodpp/transport/mpi/calls.h"
#include "horovodpp/transport/mpi/communicator.h"

extern "C" __attribute__((visibility("default"))) const void* hvd_mpi_entry() {
  static const hvd::transport::MpiEntry entry = {
      .version = HVD_VERSION_STRING,
      .is_running = hvd::transport::mpi_runs,
      .make_communicator = hvd::transport::join_mpi_world};
  return &entry;
}
