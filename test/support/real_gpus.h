// SPDX-License-Identifier: Apache-2.0
// Whether a test program uses the GPUs of the machine instead of the fakes:
// HOROVODPP_TEST_ON_GPUS=1.
#pragma once

#include <cstdlib>
#include <stdexcept>
#include <string_view>

namespace hvd::testing {

inline bool gpus_are_real() {
  static const bool real = [] {
    const char* const value = std::getenv("HOROVODPP_TEST_ON_GPUS");
    return value != nullptr && std::string_view(value) == "1";
  }();
  return real;
}

// Real GPUs lack the fakes' functions beyond CUDA and NCCL.
inline void fail_on_real_gpus() {
  if (!gpus_are_real()) return;
  throw std::logic_error("a test without HVD_NEEDS_STAND_INS() asks them");
}

}  // namespace hvd::testing
