#include "horovodpp/coordinator/tensor_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace hvd::coordinator {
namespace {

using ::testing::HasSubstr;

class TensorQueueTest : public ::testing::Test {
 protected:
  Submission submission(const std::string& name) {
    Submission s;
    s.request.name = name;
    s.done = [this, name](absl::StatusOr<Buffer> outcome) {
      EXPECT_TRUE(outcomes_.emplace(name, outcome.status()).second);
    };
    return s;
  }
  absl::Status push(const std::vector<std::string>& names) {
    std::vector<Submission> group;
    for (const std::string& name : names) group.push_back(submission(name));
    return queue_.push(std::move(group));
  }

  TensorQueue queue_;
  std::map<std::string, absl::Status> outcomes_;
};

TEST_F(TensorQueueTest, HandsRequestsOutOnceAndInOrder) {
  ASSERT_TRUE(push({"a", "b"}).ok());
  ASSERT_TRUE(push({"c"}).ok());
  const std::vector<Request> requests = queue_.take_requests();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(requests[0].name, "a");
  EXPECT_EQ(requests[2].name, "c");
  EXPECT_TRUE(queue_.take_requests().empty());
}

TEST_F(TensorQueueTest, RefusesTheWholeGroupIfOneNameIsInFlight) {
  ASSERT_TRUE(push({"a"}).ok());
  queue_.take_requests();
  const absl::Status refused = push({"b", "a"});
  EXPECT_TRUE(absl::IsAlreadyExists(refused));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("'a' is in flight"));
  EXPECT_TRUE(queue_.take_requests().empty());
  EXPECT_TRUE(push({"b"}).ok());
}

TEST_F(TensorQueueTest, RefusesAGroupThatNamesATensorTwice) {
  EXPECT_TRUE(absl::IsAlreadyExists(push({"a", "a"})));
}

TEST_F(TensorQueueTest, ANameIsFreeAgainOnceItsSubmissionIsTaken) {
  ASSERT_TRUE(push({"a"}).ok());
  ASSERT_EQ(queue_.take({"a"})->size(), 1u);
  EXPECT_TRUE(absl::IsNotFound(queue_.take({"a"}).status()));
  EXPECT_TRUE(push({"a"}).ok());
}

TEST_F(TensorQueueTest, FailsOneSubmission) {
  ASSERT_TRUE(push({"a", "b"}).ok());
  queue_.fail("a", absl::InvalidArgumentError("no"));
  queue_.fail("unknown", absl::InvalidArgumentError("no"));
  ASSERT_EQ(outcomes_.size(), 1u);
  EXPECT_EQ(outcomes_["a"].message(), "no");
}

TEST_F(TensorQueueTest, ClosingFailsAllPendingAndLaterWithTheFirstReason) {
  ASSERT_TRUE(push({"a", "b"}).ok());
  queue_.close(absl::AbortedError("rank 1 died"));
  queue_.close(absl::CancelledError("later"));
  EXPECT_EQ(outcomes_["a"].message(), "rank 1 died");
  EXPECT_EQ(outcomes_["b"].message(), "rank 1 died");
  EXPECT_EQ(push({"c"}).message(), "rank 1 died");
  EXPECT_TRUE(queue_.take_requests().empty());
}

TEST_F(TensorQueueTest, ACompletionMayPushAgain) {
  Submission s = submission("a");
  absl::Status again;
  s.done = [&](const absl::StatusOr<Buffer>&) { again = push({"a"}); };
  std::vector<Submission> group;
  group.push_back(std::move(s));
  ASSERT_TRUE(queue_.push(std::move(group)).ok());
  queue_.fail("a", absl::InternalError("x"));
  EXPECT_TRUE(again.ok());
}

}  // namespace
}  // namespace hvd::coordinator
