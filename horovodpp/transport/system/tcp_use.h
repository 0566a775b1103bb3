// SPDX-License-Identifier: Apache-2.0
// The system's count of the use of a TCP connection.
#pragma once

#include <optional>

#include "horovodpp/core/job/link_use.h"

namespace hvd::transport {

// The use of a connection to rank `to`; nullopt: `descriptor` is not a TCP
// socket, or the system is older than Linux 4.10. Thread-safe.
std::optional<LinkUse> tcp_use(int to, int descriptor);

}  // namespace hvd::transport
