// SPDX-License-Identifier: Apache-2.0
// Protects ranks on several hosts from SIGPIPE. When a peer has died, Open
// MPI's write to its TCP connection raises SIGPIPE, which would end the writer
// before it learns of the death.
#pragma once

namespace hvd::transport {

// Makes such writes fail with EPIPE from now on. Applies to the whole process,
// so only if the program has not set a SIGPIPE action itself.
void ignore_broken_pipes();

}  // namespace hvd::transport
