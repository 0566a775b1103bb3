// SPDX-License-Identifier: Apache-2.0
// The communicator of a process that was started alone.
#pragma once

#include <memory>

#include "horovodpp/transport/communicator.h"

namespace hvd::transport {

// A job of one rank, without a launcher and without MPI.
std::unique_ptr<Communicator> make_solo_communicator();

}  // namespace hvd::transport
