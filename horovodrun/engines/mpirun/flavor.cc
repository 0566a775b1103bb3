// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/engines/mpirun/flavor.h"

#include <cctype>
#include <cerrno>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "horovodrun/system/environment.h"
#include "horovodrun/system/process.h"

namespace hvd::launcher {
namespace {

// The first number after `name`; 0 if there is none.
int version_after(const std::string& text, const std::string& name) {
  size_t at = text.find(name) + name.size();
  while (at < text.size() && text[at] != '\n' &&
         !std::isdigit(static_cast<unsigned char>(text[at]))) {
    ++at;
  }
  int version = 0;
  while (at < text.size() && version < 1000 &&
         std::isdigit(static_cast<unsigned char>(text[at]))) {
    version = 10 * version + (text[at++] - '0');
  }
  return version;
}

// The file that the PATH's mpirun links to; empty if there is none.
std::filesystem::path mpirun_program() {
  std::error_code error;
  return std::filesystem::canonical(
      find_program("mpirun", current_environment()), error);
}

}  // namespace

// Asking a program for its version takes as long as starting it.
std::optional<MpiFlavor> flavor_of_program(
    const std::filesystem::path& program) {
  // Open MPI 5 has no such program.
  if (program.filename() == "orterun") return MpiFlavor::kOpenMpi4;
  return std::nullopt;
}

absl::StatusOr<MpiFlavor> flavor_of(const std::string& version_text) {
  if (absl::StrContains(version_text, "PRRTE")) return MpiFlavor::kOpenMpi5;
  for (const char* name : {"Open MPI", "OpenRTE"}) {
    if (absl::StrContains(version_text, name)) {
      return version_after(version_text, name) >= 5 ? MpiFlavor::kOpenMpi5
                                                    : MpiFlavor::kOpenMpi4;
    }
  }
  if (absl::StrContains(version_text, "Intel(R) MPI")) return MpiFlavor::kIntel;
  if (absl::StrContains(version_text, "HYDRA") ||
      absl::StrContains(version_text, "MPICH")) {
    return MpiFlavor::kMpich;
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "the mpirun on the PATH is neither Open MPI, MPICH nor Intel MPI; put "
      "one of these first on the PATH (Debian, Ubuntu: apt install "
      "openmpi-bin). "
      "Asked for its version it says: ",
      version_text.substr(0, 200)));
}

absl::StatusOr<MpiFlavor> installed_flavor() {
  if (const auto known = flavor_of_program(mpirun_program())) return *known;
  const Captured captured = capture({"mpirun", "--version"});
  if (captured.error == ENOENT) {
    return absl::NotFoundError(
        "there is no mpirun on the PATH, by which --mpi starts ranks; install "
        "Open MPI (Debian, Ubuntu: apt install openmpi-bin) or MPICH (apt "
        "install mpich), or leave --mpi out");
  }
  if (captured.error != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot run 'mpirun --version': ",
                     describe_start_error(captured.error)));
  }
  return flavor_of(captured.text);
}

}  // namespace hvd::launcher
