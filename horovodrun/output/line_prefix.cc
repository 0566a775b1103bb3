// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/output/line_prefix.h"

#include <cstddef>

#include "absl/strings/str_cat.h"

namespace hvd::launcher {
namespace {

std::string text_of(std::time_t time) {
  std::tm parts = {};
  char text[64] = "";
  if (localtime_r(&time, &parts) == nullptr ||
      std::strftime(text, sizeof text, "%a %b %e %H:%M:%S %Y", &parts) == 0) {
    return "";
  }
  return text;
}

}  // namespace

std::string LinePrefix::prefixed(absl::string_view bytes, std::time_t now) {
  std::string text;
  const std::string prefix = absl::StrCat(text_of(now), label_);
  while (!bytes.empty()) {
    const std::size_t newline = bytes.find('\n');
    const absl::string_view line = bytes.substr(
        0, newline == absl::string_view::npos ? newline : newline + 1);
    absl::StrAppend(&text, at_line_start_ ? prefix : "", line);
    at_line_start_ = newline != absl::string_view::npos;
    bytes.remove_prefix(line.size());
  }
  return text;
}

}  // namespace hvd::launcher
