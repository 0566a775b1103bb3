// SPDX-License-Identifier: Apache-2.0
// A LinkUse is what a connection to a rank of another host has carried so far.
#pragma once

#include <cstdint>

namespace hvd {

struct LinkUse {
  int to = 0;
  // Sent by this rank and confirmed by the other host.
  std::uint64_t bytes = 0;
  // While bytes were on their way, and the receiver had room for them.
  std::uint64_t busy_microseconds = 0;
};

}  // namespace hvd
