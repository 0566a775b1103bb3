// SPDX-License-Identifier: Apache-2.0
// A Communicator whose transfers go by UCX. Mail, heartbeats and the detection
// of deaths stay with the communicator that it wraps, by which the ranks met.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "horovodpp/transport/communicator.h"
#include "horovodpp/transport/loading/ucx_entry.h"

namespace hvd::transport {

// Implements make_ucx_communicator() (transport/loading/ucx_module.h) within
// this module.
absl::StatusOr<std::unique_ptr<Communicator>> join_by_ucx(
    std::unique_ptr<Communicator> wires, const UcxOptions& options);

}  // namespace hvd::transport
