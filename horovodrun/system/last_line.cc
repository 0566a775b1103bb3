// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/system/last_line.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace hvd::launcher {

std::string last_line(const std::string& text, std::size_t most_bytes) {
  std::string last;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (!line.empty()) last = std::string(line.substr(0, most_bytes));
  }
  for (char& c : last) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) c = ' ';
  }
  return last;
}

}  // namespace hvd::launcher
