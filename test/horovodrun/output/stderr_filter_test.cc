// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/output/stderr_filter.h"

#include <gtest/gtest.h>

#include <random>
#include <span>
#include <string>
#include <vector>

#include "horovodrun/engines/mpirun/command.h"

namespace hvd::launcher {
namespace {

const std::string kToken = "0123456789abcdef";
const Report kReport = {Report::Kind::kKilled, 1, 4711, 9, 1000, "a"};
const std::string kNoise =
    "[a-1.lan:07207] PMIX ERROR: BAD-PARAM in file "
    "../../../src/event/pmix_event_notification.c at line 1033\n";

// Lines of Open MPI, as its engine describes them.
std::span<const NoisePattern> patterns() {
  return mpirun_plan(MpiFlavor::kOpenMpi4, Arguments(), {})->noise;
}

struct Filtered {
  std::string text;
  std::vector<Report> reports;
};

// Concatenates the filter's output after each of `pieces` and after the end.
Filtered filter(const std::vector<std::string>& pieces) {
  ReportFilter filter(kToken);
  Filtered filtered;
  for (const std::string& piece : pieces) {
    filter.feed(piece, &filtered.text, &filtered.reports);
  }
  filter.finish(&filtered.text);
  return filtered;
}

std::string without_noise(const std::vector<std::string>& pieces) {
  NoiseFilter filter(patterns());
  std::string text;
  for (const std::string& piece : pieces) filter.feed(piece, &text);
  filter.finish(&text);
  return text;
}

TEST(ReportFilter, TakesAReportOutFromTheMiddleOfALine) {
  const Filtered filtered =
      filter({"half a " + to_line(kReport, kToken) + "line\n"});
  EXPECT_EQ(filtered.text, "half a line\n");
  EXPECT_EQ(filtered.reports, std::vector<Report>{kReport});
}

TEST(ReportFilter, ShowsAnUnfinishedLineAtOnce) {
  ReportFilter filter(kToken);
  std::string text;
  std::vector<Report> reports;
  filter.feed("loading 10%", &text, &reports);
  EXPECT_EQ(text, "loading 10%");
}

TEST(ReportFilter, LeavesReportsOfOtherJobsInTheText) {
  const std::string foreign = to_line(kReport, "another-token");
  const Filtered filtered = filter({foreign});
  EXPECT_EQ(filtered.text, foreign);
  EXPECT_TRUE(filtered.reports.empty());
}

TEST(ReportFilter, LeavesADamagedReportInTheText) {
  const std::string damaged = report_marker(kToken) + "exited or not\n";
  EXPECT_EQ(filter({"a", damaged, "b"}).text, "a" + damaged + "b");
}

TEST(ReportFilter, DoesNotHoldBackEndlesslyForANewline) {
  ReportFilter filter(kToken);
  std::string text;
  std::vector<Report> reports;
  const std::string endless =
      report_marker(kToken) + std::string(kMaxReportBytes, 'x');
  filter.feed(endless, &text, &reports);
  EXPECT_EQ(text, endless);
}

TEST(ReportFilter, FlushesItsBufferAtTheEnd) {
  const std::string begun = "x" + report_marker(kToken).substr(0, 5);
  EXPECT_EQ(filter({begun}).text, begun);
}

TEST(ReportFilter, FindsReportsInAStreamCutAnywhere) {
  std::mt19937 random(7);
  const auto below = [&](size_t limit) { return random() % limit; };
  for (int round = 0; round < 500; ++round) {
    std::string stream;
    std::string text;
    std::vector<Report> reports;
    for (size_t part = below(12); part > 0; --part) {
      if (below(3) == 0) {
        Report report = kReport;
        report.rank = static_cast<int>(below(100));
        reports.push_back(report);
        stream += to_line(report, kToken);
        continue;
      }
      std::string words;
      for (size_t i = below(40); i > 0; --i) {
        words += "\x1e\nho r"[below(6)];
      }
      if (below(4) == 0) {
        words += report_marker(kToken).substr(0, below(10)) + "!";
      }
      // A control character right before a report is ordinary output.
      stream += words;
      text += words;
    }
    std::vector<std::string> pieces;
    for (size_t at = 0; at < stream.size();) {
      const size_t size = 1 + below(20);
      pieces.push_back(stream.substr(at, size));
      at += size;
    }
    const Filtered filtered = filter(pieces);
    ASSERT_EQ(filtered.text, text) << "round " << round;
    ASSERT_EQ(filtered.reports, reports) << "round " << round;
  }
}

TEST(NoiseFilter, DropsMessagesOfDaemonsAboutAnEndedRank) {
  EXPECT_EQ(without_noise({"before\n" + kNoise + "after\n"}),
            "before\nafter\n");
  EXPECT_EQ(without_noise({"half " + kNoise + kNoise + "line\n"}),
            "half line\n");
  EXPECT_EQ(without_noise({"mpirun: Forwarding signal 14 to job\n", "x"}), "x");
  EXPECT_EQ(
      without_noise({"[vm:00315] plm:rsh: Warning: setpgid(440,440) "
                     "failed in parent with errno=Permission denied(13)\n"}),
      "");
}

TEST(NoiseFilter, WaitsForTheRestOfARecognisedLine) {
  EXPECT_EQ(
      without_noise({"a\n" + kNoise.substr(0, 60), kNoise.substr(60) + "b"}),
      "a\nb");
}

TEST(NoiseFilter, KeepsOtherMessages) {
  for (const std::string text :
       {"[a:1] PMIX ERROR: UNREACHABLE in file x.c at line 1\n",
        "PMIX ERROR: BAD-PARAM in file pmix_event_notification.c\n",
        "a b] PMIX ERROR: BAD-PARAM in file pmix_event_notification.c\n",
        "[a:1] PMIX ERROR: BAD-PARAM in file other.c at line 1\n",
        "[a:1] PMIX ERROR: BAD-PARAM in file pmix_event", "[a:", "[1/3] [==> ]",
        "mpirun: Forwarding signal mail\n"}) {
    EXPECT_EQ(without_noise({text}), text);
  }
}

TEST(NoiseFilter, ShowsAnUnfinishedLineAtOnce) {
  NoiseFilter filter(patterns());
  std::string text;
  filter.feed("[a:07207] PMIX", &text);
  EXPECT_EQ(text, "[a:07207] PMIX");
}

}  // namespace
}  // namespace hvd::launcher
