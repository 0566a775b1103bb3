// SPDX-License-Identifier: Apache-2.0
// SIGPIPE in a job of several hosts. Open MPI writes to a connection as to a pipe: when
// the peer has died the system ends the writer, who then never learns of it.
#pragma once

namespace hvd::transport {

// From now on such a write fails with EPIPE. Only where the program has not said itself
// what is to happen: the action is the whole process's.
void ignore_broken_pipes();

}  // namespace hvd::transport
