// SPDX-License-Identifier: Apache-2.0
// How the ranks of a job find each other: they exchange who they are, agree on
// their configuration and open the memory of their node.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodpp/core/topology.h"
#include "horovodpp/runtime/settings/config.h"
#include "horovodpp/transport/communicator.h"
#include "horovodpp/transport/node_segment.h"

namespace hvd::runtime {

// The wires of the job that `config` describes.
//   FailedPrecondition  a scheduler started several tasks, and nothing tells how they
//                       find each other
//   (errors)            those of the communicators
absl::StatusOr<std::unique_ptr<transport::Communicator>> make_communicator(
    const Config& config);

// "<variable>=<value>", of all that is equal on all ranks.
std::vector<std::string> common_settings(const Config& config);

// The topology as memory is shared: as the nodes, but no group of ranks larger
// than a segment serves.
absl::StatusOr<Topology> sharing_topology(const transport::Communicator& wires);

// OK if all ranks have the same values where that matters, and the process sets
// of the start can be. If not, every rank gets the same error.
//   InvalidArgument  names the variable, both ranks and both values; or a
//                    process set has no ranks, one twice, or one that is not in it
//   AlreadyExists    two process sets have the same ranks
absl::Status agree_on_config(const Config& config,
                             transport::Communicator& communicator,
                             std::chrono::steady_clock::time_point deadline);

// Pins the calling thread to the core that `config.thread_affinity` has for
// this local rank, if it has one.
//   InvalidArgument  fewer cores than local ranks, or no such core
absl::Status pin_thread(const Config& config, const Topology& topology);

}  // namespace hvd::runtime
