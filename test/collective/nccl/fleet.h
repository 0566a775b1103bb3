// SPDX-License-Identifier: Apache-2.0
// Fleets of NCCL planes.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/collective/nccl/plane.h"
#include "horovodpp/collective/nccl/session.h"
#include "test/collective/gpu_fleet.h"
#include "test/support/test_gpus.h"

namespace hvd::collective {

// The watch's view of a job that never breaks.
inline NcclWatch::Job sound_job() {
  return {.verdict = [] { return absl::OkStatus(); },
          .is_broken = [] { return false; },
          .give_up = [](const std::string& why) { ADD_FAILURE() << why; },
          .ring = [] {},
          .timeouts = {.warn = [](const std::string& text) {
            ADD_FAILURE() << text;
          }}};
}

// One rank's planes.
class NcclSeat {
 public:
  NcclSeat(Member& host, device::Gpus& gpus, int gpu,
           NcclSession::Options options, NcclWatch::Job job)
      : host_(host),
        gpu_(gpu),
        staged_({.gpus = gpus,
                 .planes = {&host.plane},
                 .rank = host.rank,
                 .ranks = host.ranks}),
        session_(gpus, std::move(options), std::move(job)) {
    std::vector<int> members(static_cast<std::size_t>(host.ranks));
    std::iota(members.begin(), members.end(), 0);
    plane_ = std::make_unique<NcclPlane>(
        NcclPlane::Means{.session = session_,
                         .host = host.plane,
                         .otherwise = staged_,
                         .members = std::move(members),
                         .rank = host.rank});
  }

  absl::Status introduce() {
    return plane_->introduce(Device::cuda(gpu_), host_.next());
  }
  NcclPlane& plane() { return *plane_; }
  NcclSession& session() { return session_; }
  // Destroys the plane before the session ends.
  void leave() { plane_.reset(); }

 private:
  Member& host_;
  const int gpu_;
  StagedPlane staged_;
  NcclSession session_;
  std::unique_ptr<NcclPlane> plane_;
};

inline NcclSession::Options nccl_of_tests() {
  return {.library = testing::TestGpus::nccl_library(),
          .may_share_gpus = testing::TestGpus::share_ranks()};
}

// Ranks use the GPUs in turn.
inline void run_on_nccl(transport::Communicator& communicator, int ranks_here,
                        device::Gpus& gpus, const Body& body) {
  run_on_shm(communicator, ranks_here, [&](Member& member) {
    const int gpu = member.rank % testing::TestGpus::count();
    NcclSeat seat(member, gpus, gpu, nccl_of_tests(), sound_job());
    ASSERT_EQ(seat.introduce(), absl::OkStatus());
    OnGpu plane(seat.plane(), gpus.driver().value()->context(gpu).value(),
                {.rank = member.rank, .ranks = member.ranks});
    Member there = {plane, member.rank, member.ranks, member.ranks_here,
                    member.interrupt};
    there.sequence = member.sequence;
    there.rounds_like = 16;
    body(there);
  });
}

class NcclOfThreads {
 public:
  void run(const Body& body) {
    testing::TestGpus::set_delay(20);
    device::Gpus gpus(testing::TestGpus::cuda_library());
    for (const int ranks : {1, 3}) {
      if (ranks > testing::TestGpus::count()) continue;
      on_loopback(ranks, [&](transport::Communicator& communicator) {
        run_on_nccl(communicator, ranks, gpus, body);
      });
    }
    testing::TestGpus::expect_no_objects_of_nccl();
  }
};

}  // namespace hvd::collective
