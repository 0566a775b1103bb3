// SPDX-License-Identifier: Apache-2.0
// The search of all ranks for the newest snapshot.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "horovodpp/runtime/runtime.h"
#include "horovodpp/snapshot/snapshot.h"
#include "horovodpp/snapshot/snapshot_folder.h"

namespace hvd::snapshot {

// The newest snapshot that a rank can read, or none. Ranks that cannot read it,
// or read another one of the same step, get it from the first rank that can.
// Every rank calls it, with the same `name` for its collectives.
//   (errors)  the job is broken
absl::StatusOr<std::optional<Snapshot>> load_newest(
    Runtime& job, const SnapshotFolder& folder, const std::string& name);

}  // namespace hvd::snapshot
