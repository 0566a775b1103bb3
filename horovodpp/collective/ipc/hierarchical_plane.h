// SPDX-License-Identifier: Apache-2.0
// The HierarchicalIpcPlane reduces tensors on GPUs of several nodes without
// NCCL. On each node it reduces in windows, as the IpcPlane does. Between the
// nodes each rank copies the lanes that it drives to the host, and sends them
// over the wires (lanes_reducing.h).
//
// The members find out at their introduction whether all nodes can do so. Work
// in a stream cannot be given up. So before a call that is not certain the
// members make sure, by a dissemination over the wires, that all have entered
// it.
//
// Results have the bits of a HierarchicalPlane between these ranks. Operations
// that do not reduce use another plane. Not thread-safe.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/collective/hierarchical/lanes.h"
#include "horovodpp/collective/ipc/plane.h"
#include "horovodpp/collective/ring/chunk_link.h"
#include "horovodpp/collective/ring/plane.h"
#include "horovodpp/collective/ring/staging.h"
#include "horovodpp/core/job/topology.h"
#include "horovodpp/transport/communicator.h"
#include "horovodpp/transport/waiting.h"

namespace hvd::collective {

class HierarchicalIpcPlane : public IpcPlane {
 public:
  // The means of traffic between nodes. All of them outlive the plane.
  struct Nodes {
    const Topology& topology;
    transport::Communicator& wires;
    transport::WaitPolicy waiting;
    std::vector<int> members;  // On all nodes, in ascending order.
    RingOptions ring = {};
  };

  // `means` is that of an IpcPlane between the members on this node.
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
  Staging staging_;                 // Data in flight between the nodes.
};

}  // namespace hvd::collective
