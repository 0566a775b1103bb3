// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/system/wake_pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>

namespace hvd::transport {

WakePipe::WakePipe() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return;
  reading_ = OwnedDescriptor(ends[0]);
  writing_ = OwnedDescriptor(ends[1]);
}

// A full pipe is readable already.
void WakePipe::wake() const {
  constexpr char kByte = 0;
  if (!is_there()) return;
  [[maybe_unused]] const auto written =
      ::write(writing_.number(), &kByte, sizeof kByte);
}

void WakePipe::clear() const {
  std::array<char, 64> bytes;
  while (is_there() &&
         ::read(reading_.number(), bytes.data(), bytes.size()) > 0) {
  }
}

}  // namespace hvd::transport
