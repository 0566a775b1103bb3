// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/report/report_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "test/horovodrun/report/traces.h"
#include "test/support/temporary_folder.h"

namespace hvd::launcher {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using ::testing::internal::CaptureStderr;
using ::testing::internal::CaptureStdout;
using ::testing::internal::GetCapturedStderr;
using ::testing::internal::GetCapturedStdout;

struct Outcome {
  int code = 0;
  std::string output;
  std::string error;
};

Outcome run(const std::vector<std::string>& words) {
  CaptureStdout();
  CaptureStderr();
  const int code = run_report(words);
  return {code, GetCapturedStdout(), GetCapturedStderr()};
}

class ReportCommand : public ::testing::Test {
 protected:
  std::string timeline() {
    report::MadeTimeline made(0);
    made.process(1, "allreduce.a");
    for (int i = 0; i < 3; ++i) {
      made.allreduce(1, 100 * i, 100 * i + 10, 100 * i + 50, i, 4000);
    }
    return made.write(folder_.path("t.json"));
  }
  static std::string content(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  TemporaryFolder folder_;
  const std::string page_ = folder_.path("page.html");
};

TEST_F(ReportCommand, PrintsText) {
  const Outcome done = run({timeline()});
  EXPECT_EQ(done.code, 0);
  EXPECT_THAT(done.output, StartsWith("Job\n  ranks: 1"));
  EXPECT_THAT(done.output, HasSubstr("step time: 100 us in the median"));
  EXPECT_THAT(done.error, IsEmpty());
}

TEST_F(ReportCommand, WritesAPage) {
  EXPECT_THAT(run({"--output", page_, timeline()}).output, IsEmpty());
  EXPECT_THAT(content(page_), StartsWith("<!DOCTYPE html>"));
  const Outcome both = run({"--text", "--output=" + page_, "--", timeline()});
  EXPECT_THAT(both.output, StartsWith("Job\n"));
  // The same facts.
  EXPECT_THAT(content(page_), HasSubstr("step time: 100 us in the median"));
}

TEST_F(ReportCommand, RefusesWrongWords) {
  for (const auto& [words, text] :
       std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{}, "needs the timelines"},
           {{"--output"}, "--output needs a file"},
           {{"--nothing"}, "no option --nothing"}}) {
    const Outcome done = run(words);
    EXPECT_EQ(done.code, 2) << text;
    EXPECT_THAT(done.error, HasSubstr(text));
    EXPECT_THAT(done.error, HasSubstr("usage: horovodrun report"));
  }
  EXPECT_THAT(run({"--help"}).output, StartsWith("usage: horovodrun report"));
}

TEST_F(ReportCommand, NamesFilesThatItCannotUse) {
  const std::string other =
      report::MadeTimeline::write_text(folder_.path("o.json"), "[{}]");
  const Outcome done = run({timeline(), other});
  EXPECT_EQ(done.code, 2);
  EXPECT_THAT(done.error, HasSubstr("o.json: it is no timeline"));
  EXPECT_EQ(run({folder_.path("none")}).code, 1);
  const Outcome unwritten =
      run({"--output", folder_.path("none/page.html"), timeline()});
  EXPECT_EQ(unwritten.code, 1);
  EXPECT_THAT(unwritten.error, HasSubstr("none/page.html: No such file"));
  EXPECT_EQ(run({"--output", "/dev/full", timeline()}).code, 1);
}

}  // namespace
}  // namespace hvd::launcher
