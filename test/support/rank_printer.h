// SPDX-License-Identifier: Apache-2.0
// The output of test programs whose ranks are processes: rank 0 reports, the
// other ranks report only failures.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

namespace hvd::testing {

class FailurePrinter : public ::testing::EmptyTestEventListener {
 public:
  explicit FailurePrinter(int rank) : rank_(rank) {}
  void OnTestStart(const ::testing::TestInfo& test) override {
    test_ = std::string(test.test_suite_name()) + "." + test.name();
  }
  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::fprintf(stderr, "rank %d: %s failed at %s:%d\n%s\n", rank_,
                 test_.c_str(),
                 result.file_name() == nullptr ? "?" : result.file_name(),
                 result.line_number(), result.message());
  }

 private:
  const int rank_;
  std::string test_;
};

inline void let_rank_0_report(int rank) {
  if (rank == 0) return;
  auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
  delete listeners.Release(listeners.default_result_printer());
  listeners.Append(new FailurePrinter(rank));
}

}  // namespace hvd::testing
