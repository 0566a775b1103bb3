// SPDX-License-Identifier: Apache-2.0
// The flavor of the installed mpirun. Options differ between flavors;
// horovodrun's behavior does not.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace hvd::launcher {

enum class MpiFlavor { kOpenMpi4, kOpenMpi5, kMpich, kIntel };

inline bool is_open_mpi(MpiFlavor flavor) {
  return flavor == MpiFlavor::kOpenMpi4 || flavor == MpiFlavor::kOpenMpi5;
}

// Reads the flavor from the output of `mpirun --version`.
//   FailedPrecondition   none of the known flavors
absl::StatusOr<MpiFlavor> flavor_of(const std::string& version_text);

// The flavor of a program, if its name shows it.
std::optional<MpiFlavor> flavor_of_program(
    const std::filesystem::path& program);

// The flavor of the PATH's mpirun: by the name of the program to which its
// links lead, or else by `mpirun --version`.
//   NotFound             there is no mpirun; names packages that have one
//   FailedPrecondition   it cannot run, or is of none of the known flavors
absl::StatusOr<MpiFlavor> installed_flavor();

}  // namespace hvd::launcher
