// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace hvd {

// Brings the names in a folder to the disk. Returns 0 or an errno; 0 also on a
// file system that does not support it.
int sync_folder(const std::string& path);

}  // namespace hvd
