// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/trace/span.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "horovodpp/core/trace/current.h"
#include "horovodpp/core/trace/event.h"
#include "horovodpp/core/trace/recorder.h"

namespace hvd::trace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// "B backward", … in order.
std::vector<std::string> spans_of(const Recorder& recorder) {
  const RingReader reader = recorder.reader();
  std::vector<std::string> spans;
  for (std::uint64_t i = 0; i < reader.written(); ++i) {
    const Event event = reader.read(i).value();
    spans.push_back((event.kind == EventKind::kSpanBegins ? "B " : "E ") +
                    reader.name(event.label).text);
  }
  return spans;
}

std::vector<int> threads_of(const Recorder& recorder) {
  const RingReader reader = recorder.reader();
  std::vector<int> threads;
  for (std::uint64_t i = 0; i < reader.written(); ++i) {
    threads.push_back(reader.read(i).value().detail);
  }
  return threads;
}

// The process's recorder while a test runs.
class SpanTest : public ::testing::Test {
 protected:
  SpanTest() { set_of_process(process_); }
  ~SpanTest() override { set_of_process(nullptr); }

  const std::shared_ptr<Recorder> process_ = Recorder::open();
};

TEST_F(SpanTest, AThreadUsesTheRecorderOfItsProcess) {
  {
    const Span outer("backward");
    const Span inner("recompute");
  }
  begin_span("data");
  end_span("data");
  EXPECT_THAT(spans_of(*process_),
              ElementsAre("B backward", "B recompute", "E recompute",
                          "E backward", "B data", "E data"));
}

TEST_F(SpanTest, AThreadUsesItsOwnRecorder) {
  const auto mine = Recorder::open();
  {
    const ThreadRecorder scope(mine);
    const Span span("optimizer");
    std::thread([] { const Span other("data"); }).join();
  }
  EXPECT_THAT(spans_of(*mine), ElementsAre("B optimizer", "E optimizer"));
  EXPECT_THAT(spans_of(*process_), ElementsAre("B data", "E data"));
}

TEST_F(SpanTest, NothingIsRecordedWithoutARecorder) {
  set_of_process(nullptr);
  EXPECT_EQ(current(), nullptr);
  const Span span("data");
  begin_span("data");
  end_span("data");
  set_of_process(process_);
  const ThreadRecorder scope(nullptr);
  const Span other("data");
  EXPECT_THAT(spans_of(*process_), IsEmpty());
}

TEST_F(SpanTest, ASpanKeepsItsRecorder) {
  auto recorder = Recorder::open();
  const std::weak_ptr<Recorder> seen = recorder;
  set_of_process(std::move(recorder));
  {
    const Span span("data");
    set_of_process(process_);
    EXPECT_FALSE(seen.expired());
  }
  EXPECT_TRUE(seen.expired());
  EXPECT_THAT(spans_of(*process_), IsEmpty());
}

TEST_F(SpanTest, AForkedChildDoesNotEndASpan) {
  {
    const Span span("data");
    forget_after_fork();
    EXPECT_EQ(current(), nullptr);
  }
  EXPECT_THAT(spans_of(*process_), ElementsAre("B data"));
}

TEST_F(SpanTest, ThreadsHaveNumbersThatAreUsedAgain) {
  begin_span("main");
  for (int i = 0; i < 2; ++i) {
    std::thread([] { begin_span("other"); }).join();
  }
  const std::vector<int> threads = threads_of(*process_);
  EXPECT_NE(threads[1], threads[0]);
  EXPECT_EQ(threads[2], threads[1]);
}

}  // namespace
}  // namespace hvd::trace
