// SPDX-License-Identifier: Apache-2.0
// The host name of this process, as ranks and the launcher use it.
#pragma once

#include <string>

namespace hvd {

// "localhost" if the system call fails.
std::string host_name();

}  // namespace hvd
