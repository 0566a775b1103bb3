// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/output/report.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "horovodpp/core/job/host_name.h"
#include "horovodrun/system/process_tree.h"

namespace hvd::launcher {
namespace {

constexpr std::array<const char*, 13> kKindNames = {
    "started",   "exited", "killed",      "not-executed", "stopping",
    "leaving",   "news",   "left-behind", "file-lost",    "activity",
    "last-line", "work",   "host-lost"};

constexpr size_t kMaxText = 256;

std::string rest_of(const Report& report) {
  switch (report.kind) {
    case Report::Kind::kNews:
      return report.news ? absl::StrCat(" ", to_text(*report.news)) : "";
    case Report::Kind::kLeftBehind:
    case Report::Kind::kFileLost:
    case Report::Kind::kActivity:
    case Report::Kind::kLastLine:
    case Report::Kind::kWork:
      return absl::StrCat(" ", report.text.substr(0, kMaxText));
    default:
      return "";
  }
}

// Reads the rest of such a report (nullopt: there is none); returns whether it
// is valid.
bool parse_rest(std::optional<absl::string_view> rest, Report* report) {
  switch (report->kind) {
    case Report::Kind::kNews:
      report->news = rest ? parse_rank_status(*rest) : std::nullopt;
      return report->news.has_value();
    case Report::Kind::kLeftBehind:
    case Report::Kind::kFileLost:
    case Report::Kind::kActivity:
    case Report::Kind::kLastLine:
    case Report::Kind::kWork:
      report->text = std::string(rest.value_or(""));
      return rest.has_value();
    default:
      return !rest;
  }
}

constexpr std::chrono::milliseconds kReportDrainTime{200};

// mpirun forwards the bytes of one read as a unit. If it read a report in two
// parts, another rank's bytes could get in between, so earlier output must be
// read before.
void wait_until_read(int fd) {
  const auto deadline = std::chrono::steady_clock::now() + kReportDrainTime;
  int unread = 0;
  while (ioctl(fd, FIONREAD, &unread) == 0 && unread > 0 &&
         std::chrono::steady_clock::now() < deadline) {
    poll(nullptr, 0, 1);
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

void report_left_behind(int rank, const std::vector<pid_t>& pids,
                        const std::string& token) {
  for (const pid_t pid : pids) {
    send_report({.kind = Report::Kind::kLeftBehind,
                 .rank = rank,
                 .pid = pid,
                 .text = where_it_waits(pid)},
                token);
  }
}

void send_report(Report report, const std::string& token) {
  report.time = std::chrono::duration_cast<std::chrono::microseconds>(
                    std::chrono::system_clock::now().time_since_epoch())
                    .count();
  if (report.host.empty()) report.host = host_name();
  const std::string line = to_line(report, token);
  wait_until_read(STDERR_FILENO);
  ssize_t count;
  do {
    count = write(STDERR_FILENO, line.data(), line.size());
    if (count < 0 && errno == EAGAIN) poll(nullptr, 0, 1);
  } while (count < 0 && (errno == EINTR || errno == EAGAIN));
}

}  // namespace hvd::launcher
