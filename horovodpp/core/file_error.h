// SPDX-License-Identifier: Apache-2.0
// Converts the errno of a file operation to a Status.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace hvd {

// "<context>: <text of error>": NotFound, PermissionDenied, ResourceExhausted
// (a full disk), Unavailable (a lock that is held), else Internal.
absl::Status file_error(int error, const std::string& context);

}  // namespace hvd
