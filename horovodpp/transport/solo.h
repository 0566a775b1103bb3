// SPDX-License-Identifier: Apache-2.0
// The communicator of a process that nobody started as one of several.
#pragma once

#include <memory>

#include "horovodpp/transport/communicator.h"

namespace hvd::transport {

// A job of one rank, without a launcher and without MPI.
std::unique_ptr<Communicator> make_solo_communicator();

}  // namespace hvd::transport
