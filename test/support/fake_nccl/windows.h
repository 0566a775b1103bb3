// SPDX-License-Identifier: Apache-2.0
// Memory that the stand-in allocates, and that is registered with communicators.
#pragma once

#include <cstdint>

#include "test/support/fake_nccl/communicator.h"

namespace fake_nccl {

// Where in the communicator's windows `memory` lies, in a number. 0: in none.
std::uint64_t place_of(NcclComm comm, const void* memory);

// Whether all ranks have registered as much as this one; an error if it is not alike.
NcclResult look_at_windows(NcclComm comm);

// Ends one that is not registered any more.
void let_go(NcclWindow window);

}  // namespace fake_nccl
