// SPDX-License-Identifier: Apache-2.0
// Identifies the machines of a job.
#pragma once

#include <string>

namespace hvd::transport {

// Host, boot and PID namespace. Containers of one machine that cannot see each
// other's processes count as nodes of their own.
std::string machine_id(const std::string& host);

}  // namespace hvd::transport
