// SPDX-License-Identifier: Apache-2.0
// Scripts that complete horovodrun's options in a shell, from the table
// (option.h).
//
//   source <(horovodrun --completion bash)
#pragma once

#include <string>

namespace hvd::launcher {

std::string bash_completion();
std::string zsh_completion();

}  // namespace hvd::launcher
