// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/terminal/terminal_color.h"

#include <unistd.h>

#include <array>
#include <cstddef>

#include "absl/strings/str_cat.h"

namespace hvd::launcher {
namespace {

// Green, yellow, blue, magenta, cyan, and their bright forms; red stands for
// failures.
constexpr std::array<const char*, 10> kRankColors = {
    "32", "33", "34", "35", "36", "92", "93", "94", "95", "96"};

}  // namespace

bool takes_colors(int fd, const Environment& environment) {
  const std::string terminal = value_in(environment, "TERM");
  return value_in(environment, "NO_COLOR").empty() && !terminal.empty() &&
         terminal != "dumb" && isatty(fd) != 0;
}

const char* color_of_rank(int rank) {
  return kRankColors[static_cast<std::size_t>(rank) % kRankColors.size()];
}

std::string in_color(absl::string_view text, const char* color) {
  return absl::StrCat("\x1b[", color, "m", text, "\x1b[0m");
}

}  // namespace hvd::launcher
