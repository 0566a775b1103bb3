// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/output/report.h"

#include <array>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace hvd::launcher {
namespace {

constexpr std::array<const char*, 8> kKindNames = {
    "started",  "exited", "killed",      "not-executed",
    "stopping", "news",   "left-behind", "host-lost"};

constexpr size_t kMostText = 256;

std::string rest_of(const Report& report) {
  switch (report.kind) {
    case Report::Kind::kNews:
      return report.news ? absl::StrCat(" ", to_text(*report.news)) : "";
    case Report::Kind::kLeftBehind:
      return absl::StrCat(" ", report.text.substr(0, kMostText));
    default:
      return "";
  }
}

// Reads the rest of such a report (nullopt: there is none); returns whether it
// is valid.
bool parse_rest(std::optional<absl::string_view> rest, Report* report) {
  switch (report->kind) {
    case Report::Kind::kNews:
      report->news = rest ? parse_rank_news(*rest) : std::nullopt;
      return report->news.has_value();
    case Report::Kind::kLeftBehind:
      report->text = std::string(rest.value_or(""));
      return rest.has_value();
    default:
      return !rest;
  }
}

}  // namespace

std::string report_marker(const std::string& token) {
  return absl::StrCat("\x1ehorovodrun ", token, " ");
}

std::string to_line(const Report& report, const std::string& token) {
  return absl::StrCat(
      report_marker(token), kKindNames[static_cast<size_t>(report.kind)], " ",
      report.rank, " ", report.pid, " ", report.value, " ", report.time, " ",
      report.host.substr(0, 256), rest_of(report), "\n");
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
  std::optional<absl::string_view> rest;
  if (words.size() > 6) rest = words[6];
  return parse_rest(rest, &report) ? std::optional(report) : std::nullopt;
}

}  // namespace hvd::launcher
