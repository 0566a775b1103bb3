// SPDX-License-Identifier: Apache-2.0
// The HierarchicalIpcPlane reduces tensors on GPUs of several nodes without NCCL: on each
// node in windows, as the IpcPlane does, and between the nodes by way of the host, over
// the wires, each rank for the lanes that it drives (lanes_reducing.h).
//
// Whether all nodes can do so their members find out when they are introduced. Before a
// call that is not certain they make sure that all have entered it, by a
// dissemination over the wires: what is in a stream is not given up.
//
// Results have the bits of a HierarchicalPlane between these ranks. What does not reduce
// goes another way. Not thread-safe.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/collective/hierarchical/lanes.h"
#include "horovodpp/collective/hierarchical/seat.h"
#include "horovodpp/collective/ipc/plane.h"
#include "horovodpp/collective/ring/chunk_link.h"
#include "horovodpp/collective/ring/plane.h"
#include "horovodpp/collective/ring/staging.h"
#include "horovodpp/core/topology.h"
#include "horovodpp/transport/communicator.h"
#include "horovodpp/transport/waiting.h"

namespace hvd::collective {

class HierarchicalIpcPlane : public IpcPlane {
 public:
  // What goes between the nodes. All of it outlives the plane.
  struct Nodes {
    const Topology& topology;
    transport::Communicator& wires;
    transport::WaitPolicy waiting;
    std::vector<int> members;  // Of all nodes, ascending.
    RingOptions ring = {};
  };

  // `means` is as of an IpcPlane between those of the members that are on this node.
  HierarchicalIpcPlane(Means means, Nodes nodes, const Options& options);
  HierarchicalIpcPlane(Means means, Nodes nodes)
      : HierarchicalIpcPlane(std::move(means), std::move(nodes), Options()) {}

  std::string name() const override { return "hierarchical-ipc"; }

 private:
  absl::StatusOr<bool> connect(const Device& mine, const Call& call) override;
  bool reduces(const Reduction& reduction) const override;
  absl::Status reduce(const Task& task, const Call& call) override;

  using Body = std::function<absl::Status(const HierarchicalSeat& seat)>;
  // Runs `body` once all members are known to have entered the call.
  absl::Status run(const Call& call, const Body& body);

  const Nodes nodes_;
  const HierarchicalLanes lanes_;
  const std::vector<int> node_of_;  // Of the members, by position.
  Staging staging_;                 // What is on its way between the nodes.
};

}  // namespace hvd::collective
