// SPDX-License-Identifier: Apache-2.0
// The program by which mpirun, and horovodrun doctor, connect to other hosts, as
// the user's settings choose it: ssh, with which options, or another.
#pragma once

#include <string>
#include <vector>

#include "horovodrun/command_line/arguments.h"
#include "horovodrun/system/environment.h"

namespace hvd::launcher {

// The first installed program of OMPI_MCA_plm_rsh_agent, with its options, or
// ssh or rsh; empty: none is installed.
std::vector<std::string> users_agent(const Environment& environment);

// As shell_words() for Open MPI, wherever this process runs.
std::vector<std::string> ssh_words(const Arguments& arguments,
                                   const Environment& environment);

// The words before the host: {"ssh", "-x", "-p", "2222"}. Empty if mpirun
// connects in a way of its own: within an allocation of a scheduler, or by
// options that only mpirun understands.
enum class MpiFamily { kOpenMpi, kHydra };
std::vector<std::string> shell_words(MpiFamily family,
                                     const Arguments& arguments,
                                     const Environment& environment);

// Open MPI's, also within an allocation.
std::vector<std::string> open_mpi_shell(
    const std::vector<std::string>& mpi_arguments,
    const Environment& environment);

}  // namespace hvd::launcher
