// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/communicator.h"

#include "absl/strings/str_cat.h"

namespace hvd::transport {

absl::Status Communicator::check_rank(int rank) const {
  if (rank >= 0 && rank < size()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("there is no rank ", rank, " in a job of ", size()));
}

}  // namespace hvd::transport
