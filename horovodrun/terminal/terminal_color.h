// SPDX-License-Identifier: Apache-2.0
// Colors of text on a terminal.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "horovodrun/system/environment.h"

namespace hvd::launcher {

// Whether text that is written to `fd` may have colors: it is a terminal, TERM
// is not "dumb", and NO_COLOR is unset or empty (no-color.org).
bool takes_colors(int fd, const Environment& environment);

// Parameters of the terminal's sequence for graphics (SGR).
inline constexpr char kBold[] = "1";
inline constexpr char kBoldRed[] = "1;31";
const char* color_of_rank(int rank);

std::string in_color(absl::string_view text, const char* color);

}  // namespace hvd::launcher
