// SPDX-License-Identifier: Apache-2.0
// Loads the MPI module: a shared library beside this one, which itself needs no
// MPI. Each MPI library has a module of its own, and several may be installed:
// libhorovodpp_mpi_openmpi4.so, libhorovodpp_mpi_mpich.so. A module is loaded
// when an MPI launcher has started this process, and then stays loaded.
//
// The first of these is chosen:
//
// - the file that the user names;
// - the module of the MPI that the program has loaded, or whose launcher
//   started it;
// - the only module installed.
//
// Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "horovodpp/transport/communicator.h"
#include "horovodpp/transport/loading/mpi_entry.h"

namespace hvd::transport {

// Names the modules, as in their file names: "openmpi4", "openmpi5", "mpich"
// (and all with its binary interface); "" if unknown.
using MpiFlavor = std::string;

struct MpiModuleChoice {
  // A file; "": search.
  std::string file;
  // Flavor of the launcher that started this process.
  MpiFlavor launcher;
};

// Loads the module, unless already loaded.
//   FailedPrecondition  it is missing (names the files looked for); it cannot
//                       be loaded, for instance because its MPI is not
//                       installed; it is of another version of horovodpp; or
//                       there are several and no criterion chooses one
absl::Status load_mpi_module(const MpiModuleChoice& choice);

// The file of the loaded module; "" if none.
std::string loaded_mpi_module();

// Whether MPI is initialized (and not finalized) in this process, by any code.
bool mpi_is_running();

// Joins MPI_COMM_WORLD through a duplicate of its own. Initializes MPI if the
// program has not, and then finalizes it when the process exits normally,
// unless a peer was lost or distrust() was called. A program's own MPI is
// adopted and never finalized. May be called again after the communicator was
// destroyed.
//   FailedPrecondition  load_mpi_module()'s; MPI is finalized; the program
//                       initialized it below MPI_THREAD_SERIALIZED; the world's
//                       size is not `expected_size` (names the MPI library); an
//                       earlier communicator of this process still lives
//   DeadlineExceeded    ranks were missing at `deadline`
absl::StatusOr<std::unique_ptr<Communicator>> make_mpi_communicator(
    const MpiOptions& options, const MpiModuleChoice& choice = {});

}  // namespace hvd::transport
