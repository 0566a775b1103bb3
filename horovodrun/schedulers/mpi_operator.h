// SPDX-License-Identifier: Apache-2.0
// Kubernetes: the MPI operator (v2beta1) and Kubeflow Trainer's MPI policy.
// Both mount a hostfile into the launcher's pod, and name it to the MPI by a
// variable.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodrun/command_line/hosts.h"
#include "horovodrun/system/environment.h"

namespace hvd::launcher {

// Empty outside of Kubernetes, and without such a hostfile. Outside, the same
// variables are settings of the user's MPI, which horovodrun leaves to it.
absl::StatusOr<std::vector<Host>> mpi_operator_hosts(
    const Environment& environment);

// Reads the lines of a hostfile, or of discover_hosts.sh: "worker-0.x.svc
// slots=2" (Open MPI), "worker-0.x.svc:2" (MPICH, Intel MPI) or "echo
// worker-0.x.svc:2". Without a number a host has `default_slots`.
//   InvalidArgument   a line cannot be read, or there is no host
absl::StatusOr<std::vector<Host>> parse_operator_hosts(const std::string& text,
                                                       int default_slots);

}  // namespace hvd::launcher
