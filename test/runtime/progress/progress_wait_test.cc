// SPDX-License-Identifier: Apache-2.0
// The waits that a waiting thread, which drives the job, announces before it
// sleeps or leaves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "horovodpp/core/thread/interruption.h"
#include "test/runtime/progress/driven_rank.h"

namespace hvd::runtime {
namespace {

using coordinator::Key;
using ::testing::ElementsAre;
using transport::Doorbell;

class ProgressWait : public DrivenRank {
 protected:
  ProgressWait()
      : DrivenRank(1, 2, [](const auto&) { return Planes::List(); }) {}

  static Key key(const std::string& name) { return {.name = name}; }

  // Puts `name` in flight: rank 0 never submits it.
  void submit(const std::string& name) {
    ASSERT_TRUE(queue_.push(submission(name, [](const auto&) {})).ok());
  }

  // Whether the driving thread is about to sleep. The call prevents that sleep.
  bool is_listened_to() {
    Doorbell& bell = segment_->doorbell(1);
    const std::uint32_t ticket = bell.listen(Doorbell::Listener::kReader);
    bell.leave(Doorbell::Listener::kReader);
    bell.ring();
    return bell.has_rung_since(ticket);
  }

  // Drives for a thread that waits for `name`, until the driver would sleep.
  void drive_until_sleep(const std::string& name) {
    bool is_over = false;
    EXPECT_TRUE(progress_.help(key(name), [&] {
      has_had_changes_ = has_had_changes_ || queue_.has_changes();
      return is_over = is_over || is_listened_to();
    }));
  }

  std::vector<Key> waited_for() {
    coordinator::TensorQueue::Changes changes;
    queue_.take_changes(changes);
    return changes.waited_for;
  }

  bool has_had_changes_ = false;
};

// As when a submission has woken another thread, which has taken in the
// submission and sleeps again before a thread waits.
TEST_F(ProgressWait, AWaitIsAnnouncedWithoutOtherWork) {
  submit("x");
  drive_until_sleep("another");
  has_had_changes_ = false;
  drive_until_sleep("x");
  EXPECT_TRUE(has_had_changes_);
}

// An interrupted thread may wait again, but the promise asks for help only
// once.
TEST_F(ProgressWait, AnInterruptedWaitIsAnnounced) {
  submit("x");
  const Interruption interruption([](void*) { return true; }, nullptr);
  int looks = 0;
  EXPECT_TRUE(progress_.help(key("x"), [&] {
    // Otherwise the driver would loop once more and take in the news.
    static_cast<void>(segment_->doorbell(1).missed());
    return ++looks > 1;
  }));
  EXPECT_THAT(waited_for(), ElementsAre(key("x")));
}

}  // namespace
}  // namespace hvd::runtime
