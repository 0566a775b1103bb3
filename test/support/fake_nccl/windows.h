// SPDX-License-Identifier: Apache-2.0
// Memory that the fake NCCL allocates and that is registered with
// communicators.
#pragma once

#include <cstdint>

#include "test/support/fake_nccl/communicator.h"

namespace fake_nccl {

// The position of `memory` in the communicator's windows, as one number. 0:
// outside of windows.
std::uint64_t place_of(NcclComm comm, const void* memory);

// Whether all ranks have registered as much as this one; an error if the
// windows differ.
NcclResult look_at_windows(NcclComm comm);

// Ends a window that is no longer registered.
void release(NcclWindow window);

}  // namespace fake_nccl
