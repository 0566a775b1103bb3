// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/report/report_command.h"

#include <cerrno>
#include <cstdio>
#include <fstream>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "horovodpp/core/printable.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/system/file_error.h"
#include "horovodrun/report/analysis.h"
#include "horovodrun/report/document.h"
#include "horovodrun/report/job_trace.h"
#include "horovodrun/report/page.h"

namespace hvd::launcher {
namespace {

constexpr char kUsage[] =
    "usage: horovodrun report [--output FILE] [--text] TIMELINE...\n"
    "Shows where the time of a job goes, from the timelines of its ranks.\n"
    "  --output FILE  write an HTML page to FILE\n"
    "  --text         print the facts as text; so without --output\n";

struct ReportWords {
  std::string output;
  bool text = false;
  bool help = false;
  std::vector<std::string> files;
};

absl::StatusOr<ReportWords> parse_words(const std::vector<std::string>& words) {
  ReportWords result;
  bool only_files = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    absl::string_view word = words[i];
    if (only_files || !absl::StartsWith(word, "-")) {
      result.files.push_back(words[i]);
    } else if (word == "--") {
      only_files = true;
    } else if (word == "--text") {
      result.text = true;
    } else if (word == "--help" || word == "-h") {
      result.help = true;
    } else if (word == "--output" || word == "-o") {
      if (++i == words.size()) {
        return absl::InvalidArgumentError("--output needs a file");
      }
      result.output = words[i];
    } else if (absl::ConsumePrefix(&word, "--output=")) {
      result.output = std::string(word);
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("report has no option ", printable(words[i])));
    }
  }
  if (result.files.empty() && !result.help) {
    return absl::InvalidArgumentError(
        "report needs the timelines of a job, such as timeline-*.json");
  }
  return result;
}

absl::Status write_page(const std::string& path, const std::string& page) {
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file << page;
  file.close();
  if (file.good()) return absl::OkStatus();
  return file_error(errno == 0 ? EIO : errno, printable(path));
}

absl::Status make_report(const ReportWords& words) {
  HVD_ASSIGN_OR_RETURN(const std::vector<report::RankTrace> ranks,
                       report::read_job(words.files));
  const report::Analysis analysis = report::analyze(ranks);
  const std::vector<report::Section> document =
      report::document_of(ranks, analysis);
  if (!words.output.empty()) {
    HVD_RETURN_IF_ERROR(
        write_page(words.output, report::page_of(ranks, analysis, document)));
  }
  if (words.text || words.output.empty()) {
    std::fputs(report::to_text(document).c_str(), stdout);
    if (std::fflush(stdout) != 0) {
      return errno_error("cannot write to standard output");
    }
  }
  return absl::OkStatus();
}

}  // namespace

int run_report(const std::vector<std::string>& words) {
  constexpr int kWrongWords = 2;
  const absl::StatusOr<ReportWords> parsed = parse_words(words);
  if (parsed.ok() && parsed->help) {
    std::fputs(kUsage, stdout);
    return std::fflush(stdout) == 0 ? 0 : 1;
  }
  const absl::Status done =
      parsed.ok() ? make_report(*parsed) : parsed.status();
  if (done.ok()) return 0;
  std::fputs(absl::StrCat("horovodrun: ", done.message(), "\n").c_str(),
             stderr);
  if (!parsed.ok()) std::fputs(kUsage, stderr);
  return done.code() == absl::StatusCode::kInvalidArgument ? kWrongWords : 1;
}

}  // namespace hvd::launcher
