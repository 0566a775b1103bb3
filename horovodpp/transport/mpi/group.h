// SPDX-License-Identifier: Apache-2.0
// Process sets from MPI communicators: a program that has split MPI_COMM_WORLD
// need not name the ranks again. Not in the library, which knows no MPI: in
// programs that link this room.
//
//   absl::StatusOr<std::vector<int>> ranks = hvd::ranks_of(first_half);
//   ... hvd::add_process_set(*ranks);           // on every rank
//
//   auto config = hvd::Config::from_env();
//   config->process_sets = *hvd::groups_of(my_half);  // before hvd::init()
//
// Ranks are those of MPI_COMM_WORLD, which are the job's.
#pragma once

#include <mpi.h>

#include <vector>

#include "absl/status/statusor.h"

namespace hvd {

// The members of `comm`, ascending; local.
//   FailedPrecondition  MPI does not run
//   InvalidArgument     there is no communicator (MPI_COMM_NULL), or it is one
//                       between two groups, or with processes of another world
absl::StatusOr<std::vector<int>> ranks_of(MPI_Comm comm);

// The members of all ranks' communicators, each different group once, in order
// of their ranks. Every rank of MPI_COMM_WORLD calls it with its own, of a
// split for instance, or with MPI_COMM_NULL. Where a job runs already, MPI must
// allow calls from several threads.
//   (errors)  as ranks_of(), also where it is another rank's communicator that
//             is refused
absl::StatusOr<std::vector<std::vector<int>>> groups_of(MPI_Comm mine);

}  // namespace hvd
