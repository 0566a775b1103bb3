// SPDX-License-Identifier: Apache-2.0
// Options of ssh for connections without a user.
#pragma once

#include <string>
#include <vector>

namespace hvd::launcher {

// Adds options by which ssh neither asks a question nor waits long for a host
// that is down. Any other program than ssh gets none.
std::vector<std::string> without_questions(std::vector<std::string> shell);

}  // namespace hvd::launcher
