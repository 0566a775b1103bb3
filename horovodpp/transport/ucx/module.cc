// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/version.h"
#include "horovodpp/transport/loading/ucx_entry.h"
#include "horovodpp/transport/ucx/communicator.h"

extern "C" __attribute__((visibility("default"))) const void* hvd_ucx_entry() {
  static const hvd::transport::UcxEntry entry = {
      .version = HVD_VERSION_STRING,
      .make_communicator = hvd::transport::join_by_ucx};
  return &entry;
}
