// SPDX-License-Identifier: Apache-2.0
// Groups: the operations between a group's begin and end enter a stream
// together, possibly after the call returns.
#pragma once

#include "test/support/fake_nccl/communicator.h"
#include "test/support/fake_nccl/operation.h"
#include "test/support/fake_nccl/world.h"

namespace fake_nccl {

// Adds an operation to this thread's group. Without an open group, the
// operation is a group of its own.
NcclResult add_to_group(NcclComm comm, CuStream stream,
                        const Operation& operation);

// Returns the error for wrong use, and makes this thread's group fail, too.
NcclResult refuse();

// Puts waiting groups into their streams.
void launch_waiting(NcclComm comm);

}  // namespace fake_nccl
