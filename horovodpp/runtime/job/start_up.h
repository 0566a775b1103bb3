// SPDX-License-Identifier: Apache-2.0
// The start of a job: its ranks connect to each other, agree on their
// configuration and open the shared memory of their node.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/core/job/topology.h"
#include "horovodpp/runtime/settings/config.h"
#include "horovodpp/transport/communicator.h"
#include "horovodpp/transport/node/segment.h"
#include "horovodpp/transport/tcp/room_guest.h"

namespace hvd::runtime {

// Connects the ranks of the job that `config` describes.
//   FailedPrecondition  a scheduler started several tasks, and no variable
//                       tells how they find each other
//   (errors)            the communicators' errors
absl::StatusOr<std::unique_ptr<transport::Communicator>> make_communicator(
    const Config& config);

// Connects the ranks of a grown job (growth.h), which are those of the meeting
// `number`. `config` has this rank's new number and the new size.
//   (errors)  the communicators' errors, and those of `interrupt`
absl::StatusOr<std::unique_ptr<transport::Communicator>>
make_grown_communicator(const Config& config, std::uint32_t number,
                        const std::function<absl::Status()>& interrupt);

// Where the launcher's waiting room is.
//   FailedPrecondition  no launcher has started an elastic job
absl::StatusOr<transport::RoomGuest::Server> room_of(const Config& config);

// "<variable>=<value>" of each setting that must be equal on all ranks.
std::vector<std::string> common_settings(const Config& config);

// The topology of shared memory: the user's nodes, split into groups no larger
// than a segment serves.
absl::StatusOr<Topology> sharing_topology(const transport::Communicator& wires);

// OK if the ranks agree on these settings, and the process sets of the start
// are valid. If not, every rank gets the same error.
//   InvalidArgument  names the variable, both ranks and both values; or a
//                    process set is empty, repeats a rank, or names a rank
//                    outside of the job
//   AlreadyExists    two process sets have the same ranks
absl::Status agree_on_config(const Config& config,
                             transport::Communicator& communicator,
                             std::chrono::steady_clock::time_point deadline);

// Pins the calling thread to the core that `config.thread_affinity` names for
// this local rank, if any.
//   InvalidArgument  fewer cores than local ranks, or no such core
absl::Status pin_thread(const Config& config, const Topology& topology);

}  // namespace hvd::runtime
