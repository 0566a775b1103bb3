// SPDX-License-Identifier: Apache-2.0
// Reads a small file of text whole.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace hvd::launcher {

//   InvalidArgument   with the reason alone: it cannot be read, is a folder, or
//                     is longer than any list of hosts
absl::StatusOr<std::string> read_text_file(const std::string& path);

}  // namespace hvd::launcher
