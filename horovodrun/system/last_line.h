// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace hvd::launcher {

// The last line of a program's output that is not empty, printable and cut to
// `most_bytes`; "": there is none.
std::string last_line(const std::string& text, std::size_t most_bytes);

}  // namespace hvd::launcher
