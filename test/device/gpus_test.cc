// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/device/gpus.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>

#include "test/support/test_gpus.h"

namespace hvd::device {
namespace {

struct Asked {
  Gpus gpus{testing::FakeCuda::file()};
  std::future<bool> others;
  bool in_time = false;

  // Another thread of the program asks meanwhile.
  static void ask(void* asked) {
    auto& mine = *static_cast<Asked*>(asked);
    mine.others = std::async(std::launch::async, [&mine] {
      return mine.gpus.driver().ok() && mine.gpus.kernels(1).ok();
    });
    mine.in_time = mine.others.wait_for(std::chrono::seconds(10)) ==
                   std::future_status::ready;
  }
};

// A driver compiles kernels at first load, which takes seconds.
TEST(Gpus, HaveADriverAndOtherKernelsWhileTheKernelsOfOneAreCompiled) {
  HVD_NEEDS_STAND_INS();
  Asked asked;
  ASSERT_TRUE(asked.gpus.driver().ok());
  testing::FakeCuda::during_next("cuModuleLoadData", Asked::ask, &asked);
  ASSERT_TRUE(asked.gpus.kernels(0).ok());
  EXPECT_TRUE(asked.in_time);
  EXPECT_TRUE(asked.others.get());
}

}  // namespace
}  // namespace hvd::device
