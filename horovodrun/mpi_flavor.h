// Which mpirun is installed: its options differ, what horovodrun promises does
// not.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace hvd::launcher {

enum class MpiFlavor { kOpenMpi4, kOpenMpi5, kMpich, kIntel };

// Reads the flavor from what `mpirun --version` prints.
//   FailedPrecondition   none of the known ones
absl::StatusOr<MpiFlavor> flavor_of(const std::string& version_text);

// Runs the PATH's `mpirun --version`.
//   NotFound             there is no mpirun; the text names packages that have
//   one FailedPrecondition   it cannot run, or is none of the known ones
absl::StatusOr<MpiFlavor> installed_flavor();

}  // namespace hvd::launcher
