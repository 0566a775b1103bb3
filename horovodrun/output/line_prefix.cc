// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/output/line_prefix.h"

#include <cstddef>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "horovodrun/terminal/terminal_color.h"

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
  const std::string prefix =
      has_time_ ? absl::StrCat(text_of(now), label_) : label_;
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

std::string to_word(const PrefixStyle& style) {
  if (!style.is_on) return "";
  return absl::StrCat("p", style.has_time ? "t" : "",
                      style.colors_output ? "o" : "",
                      style.colors_errors ? "e" : "");
}

PrefixStyle parse_prefix_style(absl::string_view word) {
  return {.is_on = absl::StrContains(word, "p"),
          .has_time = absl::StrContains(word, "t"),
          .colors_output = absl::StrContains(word, "o"),
          .colors_errors = absl::StrContains(word, "e")};
}

std::optional<LinePrefix> prefix_of(const PrefixStyle& style, int rank,
                                    bool is_errors) {
  if (!style.is_on) return std::nullopt;
  std::string label =
      absl::StrCat("[", rank, "]<", is_errors ? "stderr" : "stdout", ">:");
  if (is_errors ? style.colors_errors : style.colors_output) {
    label = in_color(label, color_of_rank(rank));
  }
  return LinePrefix(std::move(label), style.has_time);
}

}  // namespace hvd::launcher
