// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/report/trace_elements.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/horovodrun/report/traces.h"
#include "test/support/temporary_folder.h"

namespace hvd::launcher::report {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TraceElements : public ::testing::Test {
 protected:
  absl::StatusOr<bool> read(const std::string& text) {
    elements_.clear();
    return read_trace(MadeTimeline::write_text(folder_.path("t.json"), text),
                      [this](const TraceElement& element) {
                        elements_.push_back(element);
                        return absl::OkStatus();
                      });
  }
  std::string error_of(const std::string& text) {
    const auto is_complete = read(text);
    EXPECT_EQ(is_complete.status().code(), absl::StatusCode::kInvalidArgument)
        << text;
    return std::string(is_complete.status().message());
  }
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const TraceElement& one : elements_) result.push_back(one.name);
    return result;
  }

  TemporaryFolder folder_;
  std::vector<TraceElement> elements_;
};

TEST_F(TraceElements, HaveTheirMembers) {
  const auto is_complete = read(
      R"([{"name": "A", "ph": "E", "ts": 1.5, "pid": 3, "tid": 2, "args":)"
      R"( {"bytes": 8, "batch": 7, "epoch": 2, "failed": true, "name": "x"}}])");
  ASSERT_TRUE(is_complete.ok()) << is_complete.status();
  EXPECT_TRUE(*is_complete);
  ASSERT_EQ(elements_.size(), 1);
  const TraceElement& one = elements_[0];
  EXPECT_EQ(one.name, "A");
  EXPECT_EQ(one.phase, 'E');
  EXPECT_EQ(one.time_us, 1.5);
  EXPECT_EQ(one.pid, 3);
  EXPECT_EQ(one.tid, 2);
  EXPECT_EQ(one.bytes, 8);
  EXPECT_EQ(one.batch, 7);
  EXPECT_EQ(one.epoch, 2);
  EXPECT_TRUE(one.is_failed);
  EXPECT_EQ(one.process, "x");
}

TEST_F(TraceElements, MayStandInAnObject) {
  ASSERT_TRUE(read(R"({"a": [[1], {"name": "no"}], "traceEvents": [
      {"name": "A", "args": {"deep": {"name": "no", "bytes": 3}}},
      {"name": "B", "other": [{"name": "no"}]}], "b": {"name": "no"}})")
                  .ok());
  EXPECT_THAT(names(), ElementsAre("A", "B"));
  EXPECT_THAT(elements_[0].process, IsEmpty());
  EXPECT_EQ(elements_[0].bytes, 0);
}

TEST_F(TraceElements, OfAFileThatIsCutAreRead) {
  for (const char* rest : {"", ",", ",\n{", R"(,{"name": "B)", R"(,{"na)",
                           R"(,{"name": "B", "ts": 1)", R"(,{"args": {)"}) {
    const auto is_complete = read(absl::StrCat(R"([{"name": "A"})", rest));
    ASSERT_TRUE(is_complete.ok()) << is_complete.status();
    EXPECT_FALSE(*is_complete) << rest;
    EXPECT_THAT(names(), ElementsAre("A")) << rest;
  }
  EXPECT_TRUE(read("[").ok());
}

TEST_F(TraceElements, OfADamagedFileAreErrorsWithTheirPlace) {
  EXPECT_THAT(error_of("[{\"name\": \"A\"},\n{\"name\" 3},\n{}]"),
              EndsWith("t.json: it is no timeline: no JSON at line 2, "
                       "column 9"));
  EXPECT_THAT(error_of("[{}]\n[{}]"), HasSubstr("line 2, column 1"));
  EXPECT_THAT(error_of("hello"), HasSubstr("line 1, column 1"));
  EXPECT_THAT(error_of(""), HasSubstr("no JSON"));
  for (const char* other : {"3", "{}", "[3]", "[[{}]]", "null", "\"a\"",
                            R"({"traceEvents": 3})", R"({"other": [{}]})"}) {
    EXPECT_THAT(error_of(other), HasSubstr("no array of events")) << other;
  }
}

TEST_F(TraceElements, OfAFileThatCannotBeRead) {
  const auto take = [](const TraceElement&) { return absl::OkStatus(); };
  EXPECT_EQ(read_trace(folder_.path("none"), take).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(read_trace(folder_.path(), take).status().message()),
              HasSubstr("directory"));
}

TEST_F(TraceElements, EndAtAnErrorOfTheReader) {
  const std::string path =
      MadeTimeline::write_text(folder_.path("t.json"), "[{}, {}]");
  int seen = 0;
  const auto result = read_trace(path, [&](const TraceElement&) {
    ++seen;
    return absl::InvalidArgumentError("enough");
  });
  EXPECT_THAT(std::string(result.status().message()),
              EndsWith("t.json: enough"));
  EXPECT_EQ(seen, 1);
}

}  // namespace
}  // namespace hvd::launcher::report
