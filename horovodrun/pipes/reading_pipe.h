// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace hvd::launcher {

// Makes a pipe that this process reads without ever waiting, and a child
// writes. False if the system has no descriptors left.
bool make_reading_pipe(int* reading, int* writing);

}  // namespace hvd::launcher
