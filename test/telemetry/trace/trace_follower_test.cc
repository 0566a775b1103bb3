// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/telemetry/trace/trace_follower.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>

namespace hvd::telemetry {
namespace {

// Counts, and holds up the follower's thread if told to.
struct Counter final : EventReader {
  void read(const trace::Event&, const Operations&) override {
    const std::lock_guard<std::mutex> wait(gate);
    ++events;
    thread = std::this_thread::get_id();
  }
  void missed(std::uint64_t count, const Operations&) override {
    lost += count;
  }
  void pause() override {}

  std::mutex gate;
  std::atomic<std::uint64_t> events = 0;
  std::atomic<std::uint64_t> lost = 0;
  std::thread::id thread;
};

class TraceFollowerTest : public ::testing::Test {
 protected:
  ~TraceFollowerTest() override {
    follower_.remove(a_);
    follower_.remove(b_);
  }
  void write() { recorder_->write(trace::EventKind::kStepEnds, {}); }

  const std::shared_ptr<trace::Recorder> recorder_ = trace::Recorder::open();
  TraceFollower follower_{recorder_};
  Counter a_;
  Counter b_;
};

TEST_F(TraceFollowerTest, AReaderGetsTheEventsFromItsAdditionToItsRemoval) {
  write();
  ASSERT_EQ(follower_.add(a_), absl::OkStatus());
  write();
  ASSERT_EQ(follower_.add(b_), absl::OkStatus());
  write();
  follower_.remove(a_);
  EXPECT_EQ(a_.events, 2u);
  EXPECT_EQ(b_.events, 1u);
  write();
  follower_.flush();
  EXPECT_EQ(a_.events, 2u);
  EXPECT_EQ(b_.events, 2u);
}

TEST_F(TraceFollowerTest, OneThreadServesAllReaders) {
  ASSERT_EQ(follower_.add(a_), absl::OkStatus());
  ASSERT_EQ(follower_.add(b_), absl::OkStatus());
  write();
  while (b_.events == 0) std::this_thread::yield();
  follower_.remove(b_);
  EXPECT_EQ(a_.thread, b_.thread);
  EXPECT_NE(a_.thread, std::this_thread::get_id());
}

TEST_F(TraceFollowerTest, ThreadIsAwakeAgainForALaterReader) {
  ASSERT_EQ(follower_.add(a_), absl::OkStatus());
  follower_.remove(a_);
  EXPECT_FALSE(recorder_->is_followed());
  write();  // For nobody.
  ASSERT_EQ(follower_.add(b_), absl::OkStatus());
  write();
  while (b_.events == 0) std::this_thread::yield();
  EXPECT_EQ(a_.events, 0u);
  EXPECT_EQ(b_.lost, 0u);
}

TEST_F(TraceFollowerTest, EventsThatComeTooFastAreMissedByAll) {
  constexpr std::uint64_t kWritten = 3 * trace::kSlots;
  ASSERT_EQ(follower_.add(a_), absl::OkStatus());
  ASSERT_EQ(follower_.add(b_), absl::OkStatus());
  {
    const std::lock_guard<std::mutex> hold(a_.gate);
    for (std::uint64_t i = 0; i < kWritten; ++i) write();
  }
  follower_.flush();
  EXPECT_GT(a_.lost, 0u);
  EXPECT_EQ(a_.lost, b_.lost);
  EXPECT_EQ(a_.events + a_.lost, kWritten);
  EXPECT_EQ(b_.events + b_.lost, kWritten);
}

}  // namespace
}  // namespace hvd::telemetry
