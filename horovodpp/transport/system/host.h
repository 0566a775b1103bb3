// SPDX-License-Identifier: Apache-2.0
// The identity of a host, and a process's protection from SIGPIPE.
#pragma once

#include <string>

namespace hvd::transport {

// Identifies a machine of a job: host, boot and PID namespace. Containers of one machine that cannot see each
// other's processes count as nodes of their own.
std::string machine_id(const std::string& host);

// Makes writes to closed connections fail with EPIPE from now on. When a peer
// has died, Open MPI's write to its TCP connection raises SIGPIPE, which would
// end the writer before it learns of the death. Applies to the whole process,
// so only if the program has not set a SIGPIPE action itself.
void ignore_broken_pipes();

}  // namespace hvd::transport
