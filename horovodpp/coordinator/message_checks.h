// SPDX-License-Identifier: Apache-2.0
// What a message cannot say in a given job, however well it is formed: ranks
// that the job does not have, places that the board does not have, a schedule
// that cannot be read. Whether it makes sense at the moment is for those who
// act on it to see.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "horovodpp/coordinator/message.h"

namespace hvd::coordinator {

struct JobBounds {
  int ranks = 1;
  std::uint32_t slots = 0;  // On the arrival board.
};

//   InvalidArgument  says what is wrong
absl::Status check_message(const Message& message, const JobBounds& job);

}  // namespace hvd::coordinator
