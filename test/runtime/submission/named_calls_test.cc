// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/submission/named_calls.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/runtime/submission/submissions.h"
#include "test/runtime/submission/recorded_submissions.h"

namespace hvd::runtime {
namespace {

class NamedCallsTest : public RecordedSubmissions {
 protected:
  void wait_for(const SubmissionPtr&, const Ready&) override {
    end(absl::CancelledError("waited for"));
  }

  // Like Runtime::allreduce_async_.
  Future<void> call(float* memory, AllreduceOptions options) {
    const TensorView tensor = TensorView::of(memory, {1});
    if (auto again = calls_->repeat(tensor, options)) return *again;
    ++built_;
    const ProcessSet set = options.process_set;
    auto built = submission(sets_, coordinator::RequestKind::kAllreduce,
                            {tensor}, std::move(options));
    return calls_->make(std::move(**built), set, tensor);
  }

  float x_ = 1;
  float y_ = 2;
  int built_ = 0;
  std::optional<NamedCalls> calls_{std::in_place, sets_, *this, sink_};
};

TEST_F(NamedCallsTest, ARepetitionIsTheSameSubmissionInOtherMemory) {
  for (float* const memory : {&x_, &y_, &x_}) {
    const Future<void> done = call(memory, {.name = "a"});
    EXPECT_EQ(submitted_.back()->inputs.front().data(), memory);
    EXPECT_EQ(submitted_.back()->outputs.front().data(), memory);
    EXPECT_FALSE(done.poll());
    end();
    EXPECT_EQ(done.wait(), absl::OkStatus());
  }
  EXPECT_EQ(built_, 1);
  EXPECT_EQ(submitted_[0], submitted_[2]);
  EXPECT_EQ(expected_, 1);
  submitted_.clear();
  calls_.reset();
  EXPECT_EQ(expected_, 0);
}

TEST_F(NamedCallsTest, AreRepeatedInAnyOrder) {
  std::vector<std::string> order = {"a", "b", "c", "d"};
  std::map<std::string, SubmissionPtr> made;
  do {
    for (int times = 0; times < 2; ++times) {
      for (const std::string& name : order) {
        const Future<void> done = call(&x_, {.name = name});
        const SubmissionPtr& mine = submitted_.back();
        EXPECT_EQ(mine->request.key.name, name);
        EXPECT_EQ(made.try_emplace(name, mine).first->second, mine);
        end();
      }
    }
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_EQ(built_, 4);
}

TEST_F(NamedCallsTest, ADifferentCallIsBuiltAnewAndThenRepeated) {
  const AllreduceOptions different[] = {
      {.name = "a"},
      {.name = "a", .op = ReduceOp::kMax},
      {.name = "a", .prescale_factor = 2},
      {.name = "a", .postscale_factor = 2},
      {.name = "a", .average_of_participants = true},
      {.name = "b"}};
  for (const AllreduceOptions& options : different) {
    for (int i = 0; i < 2; ++i) {
      const Future<void> done = call(&x_, options);
      end();
      EXPECT_EQ(done.wait(), absl::OkStatus());
    }
  }
  EXPECT_EQ(built_, 6);
  EXPECT_EQ(calls_->size(), 2u);
  EXPECT_EQ(submitted_.back()->request.key.name, "b");
}

TEST_F(NamedCallsTest, ATensorOfAnotherShapeOrWithoutMemoryIsNotRepeated) {
  const Future<void> done = call(&x_, {.name = "a"});
  end();
  const TensorView others[] = {TensorView::of(&x_, {1, 1}),
                               TensorView(&x_, DType::kI32, {1}),
                               TensorView(nullptr, DType::kF32, {1})};
  for (const TensorView& other : others) {
    AllreduceOptions options = {.name = "a"};
    EXPECT_FALSE(calls_->repeat(other, options).has_value());
    EXPECT_EQ(options.name, "a");
  }
}

TEST_F(NamedCallsTest, ACallInFlightIsNotRepeatedAndKept) {
  const Future<void> first = call(&x_, {.name = "a"});
  const Future<void> second = call(&y_, {.name = "a"});
  EXPECT_EQ(built_, 2);
  EXPECT_NE(submitted_[0], submitted_[1]);
  submitted_[1]->done(absl::AlreadyExistsError("in flight"));
  submitted_[0]->done(Results());
  EXPECT_TRUE(absl::IsAlreadyExists(second.wait()));
  EXPECT_EQ(first.wait(), absl::OkStatus());
  const Future<void> third = call(&x_, {.name = "a"});
  EXPECT_EQ(built_, 2);
  EXPECT_EQ(submitted_[2], submitted_[0]);
  end();
}

TEST_F(NamedCallsTest, AFailedCallIsBuiltAgain) {
  const Future<void> failed = call(&x_, {.name = "a"});
  end(absl::InvalidArgumentError("ranks disagree"));
  end();  // Keeps the first outcome.
  EXPECT_TRUE(absl::IsInvalidArgument(failed.wait()));
  const Future<void> done = call(&x_, {.name = "a"});
  EXPECT_EQ(built_, 2);
  end();
  EXPECT_EQ(done.wait(), absl::OkStatus());
}

TEST_F(NamedCallsTest, ACallbackMayMakeTheNextCall) {
  Future<void> next;
  call(&x_, {.name = "a"}).then([&](const Status&) {
    next = call(&y_, {.name = "a"});
  });
  end();
  EXPECT_EQ(built_, 1);
  EXPECT_FALSE(next.poll());
  end();
  EXPECT_EQ(next.wait(), absl::OkStatus());
}

TEST_F(NamedCallsTest, ACallbackThatThrowsIsReported) {
  call(&x_, {.name = "a"}).then([](const Status&) {
    throw std::runtime_error("oops");
  });
  end();
  EXPECT_EQ(thrown_, "oops");
}

TEST_F(NamedCallsTest, AnOwnerIsKeptUntilTheOutcome) {
  for (int i = 0; i < 2; ++i) {
    auto owner = std::make_shared<int>();
    const std::weak_ptr<int> kept = owner;
    const Future<void> done =
        call(&x_, {.name = "a", .keep_alive = std::move(owner)});
    EXPECT_FALSE(kept.expired());
    end();
    EXPECT_TRUE(kept.expired());
  }
}

TEST_F(NamedCallsTest, ChangedSetsNeedANewAdmission) {
  sets_.add(1, {0, 1});
  const ProcessSet set = sets_.all().back();
  const AllreduceOptions options = {.name = "a", .process_set = set};
  const Future<void> done = call(&x_, options);
  end();
  sets_.remove(1);
  AllreduceOptions again = options;
  const auto refused = calls_->repeat(TensorView::of(&x_, {1}), again);
  ASSERT_TRUE(refused.has_value());
  EXPECT_TRUE(absl::IsInvalidArgument(refused->wait()));
  EXPECT_EQ(submitted_.size(), 1u);
}

TEST_F(NamedCallsTest, NamesThatAreNotUsedAgainAreDropped) {
  constexpr int kNames = 4 * static_cast<int>(NamedCalls::kLeast);
  for (int i = 0; i < kNames; ++i) {
    const Future<void> always = call(&x_, {.name = "always"});
    end();
    const Future<void> once = call(&x_, {.name = std::to_string(i)});
    end();
    submitted_.clear();
  }
  EXPECT_LE(calls_->size(), 3 * NamedCalls::kLeast);
  EXPECT_EQ(built_, kNames + 1);
}

TEST_F(NamedCallsTest, AnAwaitedCallMayRunAtOnce) {
  AllreduceOptions options = {.name = "a"};
  const TensorView y = TensorView::of(&y_, {1});
  EXPECT_EQ(calls_->run(y, options), std::nullopt);
  const Future<void> made = call(&x_, {.name = "a"});
  EXPECT_EQ(calls_->run(y, options), std::nullopt);  // In flight.
  end();
  tried_as_ = Quick::kDone;
  for (int i = 0; i < 2; ++i) {
    options = {.name = "a"};
    EXPECT_EQ(calls_->run(y, options), Status());
  }
  EXPECT_EQ(tried_, 2);
  EXPECT_EQ(submitted_.size(), 1u);
  EXPECT_EQ(submitted_[0]->outputs.front().data(), &y_);
}

TEST_F(NamedCallsTest, ACallThatCannotRunAtOnceBlocks) {
  const TensorView y = TensorView::of(&y_, {1});
  for (const Quick tried_as : {Quick::kNot, Quick::kBegun}) {
    AllreduceOptions options = {.name = tried_as == Quick::kNot ? "a" : "b"};
    const Future<void> made = call(&x_, options);
    end();
    tried_as_ = tried_as;
    submitted_.clear();
    const auto outcome = calls_->run(y, options);
    ASSERT_TRUE(outcome.has_value());
    EXPECT_EQ(outcome->message(), "waited for");
    EXPECT_EQ(submitted_.size(), 1u);
  }
}

}  // namespace
}  // namespace hvd::runtime
