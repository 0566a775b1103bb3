// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/job/report.h"

#include <array>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace hvd::launcher {
namespace {

constexpr std::array<const char*, 7> kKindNames = {
    "started",  "exited", "killed",   "not-executed",
    "stopping", "news",   "host-lost"};

}  // namespace

std::string report_marker(const std::string& token) {
  return absl::StrCat("\x1ehorovodrun ", token, " ");
}

std::string to_line(const Report& report, const std::string& token) {
  return absl::StrCat(
      report_marker(token), kKindNames[static_cast<size_t>(report.kind)], " ",
      report.rank, " ", report.pid, " ", report.value, " ", report.time, " ",
      report.host.substr(0, 256),
      report.news ? absl::StrCat(" ", to_text(*report.news)) : "", "\n");
}

std::optional<Report> parse_report(absl::string_view fields) {
  const std::vector<absl::string_view> words =
      absl::StrSplit(fields, absl::MaxSplits(' ', 6));
  if (words.size() < 6) return std::nullopt;
  Report report;
  size_t kind = 0;
  while (kind < kKindNames.size() && words[0] != kKindNames[kind]) ++kind;
  if (kind == kKindNames.size()) return std::nullopt;
  report.kind = static_cast<Report::Kind>(kind);
  if (!absl::SimpleAtoi(words[1], &report.rank) ||
      !absl::SimpleAtoi(words[2], &report.pid) ||
      !absl::SimpleAtoi(words[3], &report.value) ||
      !absl::SimpleAtoi(words[4], &report.time) || report.rank < 0) {
    return std::nullopt;
  }
  report.host = std::string(words[5]);
  if (words.size() > 6) report.news = parse_rank_news(words[6]);
  const bool has_news = words.size() > 6;
  if (has_news != (report.kind == Report::Kind::kNews) ||
      has_news != report.news.has_value()) {
    return std::nullopt;
  }
  return report;
}

}  // namespace hvd::launcher
