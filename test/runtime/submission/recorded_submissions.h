// SPDX-License-Identifier: Apache-2.0
// Base of test fixtures: a SubmissionSink that records the submissions of the
// class under test. Each test defines the waits and the outcomes.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodpp/runtime/execution/set_table.h"
#include "horovodpp/runtime/submission/submission_sink.h"

namespace hvd::runtime {

class RecordedSubmissions : public ::testing::Test, public SubmissionSink {
 protected:
  using Results = coordinator::Results;
  using SubmissionPtr = coordinator::SubmissionPtr;

  void submit(const SubmissionPtr& submission) override {
    submitted_.push_back(submission);
    if (!refusal_.ok()) submission->done(refusal_);
  }
  void submit_for_another(const SubmissionPtr& submission) override {
    ++for_another_;
    submit(submission);
  }
  Quick try_at_once(const SubmissionPtr& submission,
                    const std::function<void()>& begun) override {
    if (while_tried_) std::exchange(while_tried_, nullptr)();
    if (tried_as_ == Quick::kNot) return Quick::kNot;
    ++tried_;
    if (tried_as_ == Quick::kBegun) {
      begun();
      submitted_.push_back(submission);
    }
    return tried_as_;
  }
  void callback_threw(const std::string& what) override { thrown_ = what; }
  void expect_more(coordinator::Submission&) override { ++expected_; }
  void expect_no_more(coordinator::Submission&) override { --expected_; }

  // Completes the submission in flight.
  void end(absl::StatusOr<Results> outcome = Results()) {
    const SubmissionPtr last = submitted_.back();
    last->done(std::move(outcome));
  }

  SetTable sets_{0, 2};
  // Does not own its target.
  std::shared_ptr<SubmissionSink> sink_{this, [](SubmissionSink*) {}};
  std::vector<SubmissionPtr> submitted_;
  absl::Status refusal_;          // Of every submission.
  Quick tried_as_ = Quick::kNot;  // Result of each try.
  int tried_ = 0;
  int for_another_ = 0;                // Submitted for another thread.
  std::function<void()> while_tried_;  // Runs within the next try.
  std::string thrown_;
  int expected_ = 0;
};

}  // namespace hvd::runtime
