// SPDX-License-Identifier: Apache-2.0
// The exchange of ranks that are about to use UCX. An error of one rank is
// returned by all, with the rank's name, and so is the difference between ranks
// with and without HOROVODPP_TRANSPORT=ucx.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodpp/transport/communicator.h"

namespace hvd::transport {

// As Communicator::exchange(), of a text or of the error in its place.
//   FailedPrecondition  a rank has an error
//   InvalidArgument     a rank does not use UCX
absl::StatusOr<std::vector<std::string>> exchange_for_ucx(
    Communicator& wires, const absl::StatusOr<std::string>& mine,
    std::chrono::steady_clock::time_point deadline);

}  // namespace hvd::transport
