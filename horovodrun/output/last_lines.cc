// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/output/last_lines.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace hvd::launcher {
namespace {

// For lines that are longer than their kept part.
constexpr std::size_t kMaxKeptText = 16 << 10;

std::string shown_form(absl::string_view line) {
  line = absl::StripTrailingAsciiWhitespace(line);
  line.remove_prefix(line.rfind('\r') + 1);  // npos + 1 is 0.
  std::string text(line.substr(0, LastLines::kMaxLineBytes));
  for (char& c : text) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) c = ' ';
  }
  if (line.size() > text.size()) text.replace(text.size() - 3, 3, "...");
  return text;
}

}  // namespace

void LastLines::feed(absl::string_view bytes) {
  if (bytes.size() > kMaxKeptText)
    bytes.remove_prefix(bytes.size() - kMaxKeptText);
  text_.append(bytes.data(), bytes.size());
  if (text_.size() > 2 * kMaxKeptText)
    text_.erase(0, text_.size() - kMaxKeptText);
}

std::vector<std::string> LastLines::lines() const {
  std::vector<std::string> found;
  absl::string_view rest = text_;
  while (!rest.empty() && found.size() < kMaxLines) {
    const std::size_t newline = rest.rfind('\n');
    const bool is_first = newline == absl::string_view::npos;
    std::string line = shown_form(is_first ? rest : rest.substr(newline + 1));
    if (!line.empty()) found.push_back(std::move(line));
    rest = is_first ? absl::string_view() : rest.substr(0, newline);
  }
  std::reverse(found.begin(), found.end());
  return found;
}

bool ends_with_lines(const std::vector<std::string>& shown,
                     const std::vector<std::string>& lines) {
  return shown.size() >= lines.size() &&
         std::equal(lines.rbegin(), lines.rend(), shown.rbegin(),
                    [](const std::string& line, const std::string& above) {
                      // A prefix leaves less room before the cut.
                      return absl::EndsWith(above, line) ||
                             (absl::EndsWith(above, "...") &&
                              above.size() == LastLines::kMaxLineBytes);
                    });
}

}  // namespace hvd::launcher
