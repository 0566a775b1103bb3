// SPDX-License-Identifier: Apache-2.0
// Suspects of a broken job are ranks that are presumed lost without proof of
// death: they did not answer, or their host went silent. Re-forming the job
// does not wait for them. They travel with the error, as a payload of its
// status.
#pragma once

#include <vector>

#include "absl/status/status.h"

namespace hvd {

// `why` with exactly these suspects.
absl::Status with_suspects(absl::Status why, const std::vector<int>& ranks);

// The suspects of `why`, ascending.
std::vector<int> suspects_of(const absl::Status& why);

}  // namespace hvd
