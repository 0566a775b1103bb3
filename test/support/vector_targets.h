// SPDX-License-Identifier: Apache-2.0
// The instruction sets for which kernels were compiled and that this machine
// has.
#pragma once

#include <gtest/gtest.h>
#include <hwy/highway.h>

namespace hvd {

// Calls `test` with the kernels of each instruction set in turn.
template <typename F>
void for_each_target(const F& test) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    test();
    hwy::SetSupportedTargetsForTest(0);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace hvd
