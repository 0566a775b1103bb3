// SPDX-License-Identifier: Apache-2.0
// What tells the machines of a job apart.
#pragma once

#include <string>

namespace hvd::transport {

// Host, boot and PID namespace: containers of one machine that cannot see each
// other's processes are nodes of their own.
std::string machine_id(const std::string& host);

}  // namespace hvd::transport
