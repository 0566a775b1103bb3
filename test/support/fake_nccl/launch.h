// SPDX-License-Identifier: Apache-2.0
// Groups: what is asked for between a group's beginning and its end goes into a stream
// together, though not necessarily before the call returns.
#pragma once

#include "test/support/fake_nccl/communicator.h"
#include "test/support/fake_nccl/operation.h"
#include "test/support/fake_nccl/world.h"

namespace fake_nccl {

// Puts an operation into this thread's group, which ends with it if none has begun.
NcclResult add_to_group(NcclComm comm, CuStream stream,
                        const Operation& operation);

// That of a wrong use, which this thread's group is refused for as well.
NcclResult refuse();

// Puts into streams what waits for that.
void launch_waiting(NcclComm comm);

}  // namespace fake_nccl
