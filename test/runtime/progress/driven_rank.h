// SPDX-License-Identifier: Apache-2.0
// All that one rank's Progress works with, on one node. A test drives the job
// by hand, without the thread of Progress::run().
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "horovodpp/runtime/job/node_layout.h"
#include "horovodpp/runtime/progress/progress.h"
#include "horovodpp/transport/loopback/loopback.h"

namespace hvd::runtime {

class DrivenRank : public ::testing::Test {
 protected:
  // The other ranks do nothing.
  DrivenRank(int rank, int size, Planes::Factory planes)
      : size_(size),
        world_(size),
        layout_{size, kSlots},
        wires_(world_.communicator(rank)),
        topology_(*Topology::from_peers(rank, wires_->peers())),
        segment_(open_segment()),
        board_{layout_.board(segment_->payload()), rank, size, kSlots},
        coordinator_{{.rank = rank,
                      .tree = coordinator::Tree::of(topology_),
                      .epoch = kEpoch,
                      .cache_capacity = kSlots},
                     board_,
                     Clock::steady()},
        sets_{rank, size},
        planes_{rank, std::move(planes)},
        log_{rank, {}} {}

  // One float under this name. `done` gets the outcome.
  std::shared_ptr<coordinator::Submission> submission(
      const std::string& name,
      std::function<void(absl::StatusOr<coordinator::Results>&&)> done) {
    auto made = std::make_shared<coordinator::Submission>();
    made->request.key.name = name;
    made->request.tensors = {{DType::kF32, Shape({1})}};
    made->done = std::move(done);
    return made;
  }

 private:
  static constexpr std::uint32_t kSlots = 16;
  static constexpr std::uint32_t kEpoch = 1;

  std::unique_ptr<transport::NodeSegment> open_segment() {
    const auto open = [this](transport::Communicator& wires) {
      return *transport::NodeSegment::open(
          wires, *Topology::from_peers(wires.rank(), wires.peers()),
          layout_.bytes(), std::chrono::steady_clock::time_point::max());
    };
    std::vector<std::thread> others;
    for (int rank = 0; rank < size_; ++rank) {
      if (rank == wires_->rank()) continue;
      others.emplace_back([&, rank] { open(*world_.communicator(rank)); });
    }
    auto mine = open(*wires_);
    for (std::thread& other : others) other.join();
    return mine;
  }

  const int size_;
  transport::LoopbackWorld world_;
  const NodeLayout layout_;
  const std::unique_ptr<transport::Communicator> wires_;

 protected:
  const Topology topology_;
  const std::unique_ptr<transport::NodeSegment> segment_;
  transport::FailureRecord early_leave_ = {};
  FailureMonitor monitor_{topology_, *segment_, early_leave_, kEpoch};
  transport::NodeMail mail_{*segment_, layout_.mail(segment_->payload())};
  MessageRouter router_{*wires_, mail_, topology_};
  coordinator::SharedBoard board_;
  coordinator::Coordinator coordinator_;
  SetTable sets_;
  Planes planes_;
  Executor executor_{planes_, sets_, monitor_};
  telemetry::Log log_;
  const LauncherChannel launcher_{""};
  coordinator::TensorQueue queue_;
  Progress progress_{{.topology = topology_,
                      .segment = *segment_,
                      .router = router_,
                      .coordinator = coordinator_,
                      .queue = queue_,
                      .executor = executor_,
                      .monitor = monitor_,
                      .log = log_,
                      .launcher = launcher_},
                     std::chrono::hours(1)};
};

}  // namespace hvd::runtime
