// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace hvd::launcher {

// The number of cores that this process may use, by its affinity and its
// control group; at least 1.
int usable_cores();

}  // namespace hvd::launcher
