// SPDX-License-Identifier: Apache-2.0
// Which mpirun is installed: its options differ, what horovodrun promises does
// not.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace hvd::launcher {

// kNone: ranks of this host alone, which need no MPI (rank_starter.h).
enum class MpiFlavor { kNone, kOpenMpi4, kOpenMpi5, kMpich, kIntel };

inline bool is_open_mpi(MpiFlavor flavor) {
  return flavor == MpiFlavor::kOpenMpi4 || flavor == MpiFlavor::kOpenMpi5;
}

// Reads the flavor from what `mpirun --version` prints.
//   FailedPrecondition   none of the known ones
absl::StatusOr<MpiFlavor> flavor_of(const std::string& version_text);

// The flavor of a program, if its name tells it.
std::optional<MpiFlavor> flavor_of_program(
    const std::filesystem::path& program);

// Of the PATH's mpirun: of the program that its links lead to or, if the name of that
// does not tell, of what `mpirun --version` prints.
//   NotFound             there is no mpirun; names packages that have one
//   FailedPrecondition   it cannot run, or is none of the known ones
absl::StatusOr<MpiFlavor> installed_flavor();

}  // namespace hvd::launcher
