// SPDX-License-Identifier: Apache-2.0
// Watches every case of a test program, and the program between the cases and
// at its end. HOROVODPP_TEST_CASE_SECONDS is the limit for each; CMake sets it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "test/support/watchdog/watchdog.h"

namespace {

class CaseWatch : public testing::EmptyTestEventListener {
 public:
  void OnTestProgramStart(const testing::UnitTest&) override {
    watch("the start of the program");
  }
  void OnTestStart(const testing::TestInfo& test) override {
    watch(name_of(test));
  }
  void OnTestEnd(const testing::TestInfo& test) override {
    watch("what follows " + name_of(test));
  }
  void OnTestProgramEnd(const testing::UnitTest&) override {
    watch("the end of the program");
  }

 private:
  static std::string name_of(const testing::TestInfo& test) {
    return std::string(test.test_suite_name()) + "." + test.name();
  }
  static void watch(const std::string& name) {
    const char* const seconds = std::getenv("HOROVODPP_TEST_CASE_SECONDS");
    if (seconds != nullptr) hvd_watch(name.c_str(), std::atoi(seconds));
  }
};

// Without the variable, as under a debugger, a case has no limit.
[[maybe_unused]] const bool is_watched = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new CaseWatch);
  return true;
}();

}  // namespace
