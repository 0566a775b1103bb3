// SPDX-License-Identifier: Apache-2.0
// The suspects of a broken job: ranks that the reason takes for lost without
// having seen them die, since they did not answer, or nothing was heard of
// their host any more. Re-forming the job does not wait for them. They travel
// with the reason, as a payload of its status.
#pragma once

#include <vector>

#include "absl/status/status.h"

namespace hvd {

// `why` with these, and no others.
absl::Status with_suspects(absl::Status why, const std::vector<int>& ranks);

// Those of `why`, ascending.
std::vector<int> suspects_of(const absl::Status& why);

}  // namespace hvd
