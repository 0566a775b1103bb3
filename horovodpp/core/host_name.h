// SPDX-License-Identifier: Apache-2.0
// The name of the host this process runs on, as ranks and the launcher know it.
#pragma once

#include <string>

namespace hvd {

// "localhost" where the system does not tell.
std::string host_name();

}  // namespace hvd
