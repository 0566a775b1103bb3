// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace hvd::launcher {

// 128 random bits as hexadecimal digits, which cannot be guessed.
std::string random_token();

}  // namespace hvd::launcher
