// SPDX-License-Identifier: Apache-2.0
// UCX's own messages.
#pragma once

namespace hvd::transport {

// From now on they go to standard error. By itself UCX writes them to standard
// output, among the results of the program.
void send_ucx_messages_to_stderr();

}  // namespace hvd::transport
