// SPDX-License-Identifier: Apache-2.0
// Checks that a well-formed message fits the job: ranks that exist, slots that
// the board has, a schedule that can be read. The receivers check whether the
// message makes sense at that moment.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "horovodpp/coordinator/protocol/message.h"

namespace hvd::coordinator {

struct JobBounds {
  int ranks = 1;
  std::uint32_t slots = 0;  // On the arrival board.
};

//   InvalidArgument  names the mistake
absl::Status check_message(const Message& message, const JobBounds& job);

}  // namespace hvd::coordinator
