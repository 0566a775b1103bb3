// SPDX-License-Identifier: Apache-2.0
// The module that speaks MPI: a shared library beside this one, which itself needs
// no MPI. There is one for each MPI that it was built with, and several may lie side
// by side: libhorovodpp_mpi_openmpi4.so, libhorovodpp_mpi_mpich.so. It is loaded when
// a launcher of MPI's has started this process, and then stays.
//
// Which one: the file that the user names; else that of the MPI which the program has
// loaded, or by whose launcher it was started; else the only one there is.
//
// Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "horovodpp/transport/communicator.h"
#include "horovodpp/transport/mpi_entry.h"

namespace hvd::transport {

// What tells the modules apart, as in their files' names: "openmpi4", "openmpi5",
// "mpich" (and all that share its binary interface); "": not known.
using MpiFlavor = std::string;

struct MpiModuleChoice {
  // A file; "": to be looked for.
  std::string file;
  // Of the launcher that started this process.
  MpiFlavor launcher;
};

// Loads the module, unless that was done before.
//   FailedPrecondition  it is not there: says which files were looked for; it cannot
//                       be loaded, for instance because its MPI is not installed; it
//                       is of another version of horovodpp; or there are several, and
//                       nothing tells which of them
absl::Status load_mpi_module(const MpiModuleChoice& choice);

// The file of the module that is loaded; "" before.
std::string loaded_mpi_module();

// Whether MPI is initialized (and not finalized) in this process already, by
// whomever.
bool mpi_is_running();

// Joins MPI_COMM_WORLD through a duplicate of our own. Initializes MPI if the
// program has not, and then finalizes it when the process exits normally,
// unless a peer was lost or distrust() was called; a program's own MPI is
// adopted and left alone.
// Callable again after the communicator is gone.
//   FailedPrecondition  load_mpi_module()'s; MPI is finalized; the program
//                       initialized it below MPI_THREAD_SERIALIZED; the world's
//                       size is not `expected_size` (names the MPI library); an
//                       earlier communicator of this process still lives
//   DeadlineExceeded    not all ranks came before `deadline`
absl::StatusOr<std::unique_ptr<Communicator>> make_mpi_communicator(
    const MpiOptions& options, const MpiModuleChoice& choice = {});

}  // namespace hvd::transport
