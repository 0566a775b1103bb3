// SPDX-License-Identifier: Apache-2.0
// Whether a test program is to use the GPUs of the machine, and not those of the stand-ins:
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

// What the stand-ins are asked beyond CUDA and NCCL no GPU can answer.
inline void fail_on_real_gpus() {
  if (!gpus_are_real()) return;
  throw std::logic_error("a test without HVD_NEEDS_STAND_INS() asks them");
}

}  // namespace hvd::testing
