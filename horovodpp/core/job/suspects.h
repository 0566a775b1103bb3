// SPDX-License-Identifier: Apache-2.0
// Suspects of a broken job are ranks that are presumed lost without proof of
// death: they did not answer, or their host went silent. Re-forming the job
// does not wait for them. They and the kind of the failure travel with the
// error, as payloads of its status.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"

namespace hvd {

// `why` with exactly these suspects.
absl::Status with_suspects(absl::Status why, const std::vector<int>& ranks);

// The suspects of `why`, ascending.
std::vector<int> suspects_of(const absl::Status& why);

// The kind of failure that broke a job, if other ranks or the launcher act on
// it.
enum class FailureKind : std::uint8_t {
  kOther,
  // All ranks of a node are silent, so their ends may never be reported.
  kSilentNode,
};
inline constexpr FailureKind kLastFailureKind = FailureKind::kSilentNode;

// `why` with this kind.
absl::Status with_failure_kind(absl::Status why, FailureKind kind);
FailureKind failure_kind_of(const absl::Status& why);

}  // namespace hvd
