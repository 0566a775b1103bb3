// SPDX-License-Identifier: Apache-2.0
// A fleet with tensors on GPUs, for suites that know only host memory. Each
// call runs on copies of its arguments on the fake GPUs; results are copied
// back after the call.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/collective/call_checks.h"
#include "horovodpp/collective/data_plane.h"
#include "horovodpp/collective/ipc/plane.h"
#include "horovodpp/collective/staged_plane.h"
#include "horovodpp/core/job/ranks.h"
#include "horovodpp/device/cuda_memory.h"
#include "horovodpp/device/cuda_stream.h"
#include "test/collective/fleets.h"
#include "test/support/test_gpus.h"

namespace hvd::collective {

inline constexpr std::uint32_t kFirstSequence =
    0xfffffff0;  // The sequence number of a Member's first call.

// Host memory of a tensor and its copy on a GPU. One copy serves a source that
// is the destination, too.
class Copied {
 public:
  Copied(device::CudaStream& stream, const std::byte* from, std::byte* to,
         std::size_t bytes)
      : stream_(stream), from_(from), to_(to), bytes_(bytes) {
    if (from != nullptr) from_gpu_ = copy_of(from);
    if (to != nullptr) to_gpu_ = to == from ? from_gpu_ : copy_of(to);
  }

  Memory on_gpu() const { return {from_gpu_.get(), to_gpu_.get()}; }
  void bring_back() const {
    if (from_ != to_ && from_ != nullptr) {
      bring_back(from_gpu_.get(), const_cast<std::byte*>(from_));
    }
    if (to_ != nullptr) bring_back(to_gpu_.get(), to_);
  }

 private:
  std::shared_ptr<std::byte> copy_of(const std::byte* host) {
    auto gpu = device::allocate_on(stream_.context(), bytes_).value();
    EXPECT_TRUE(stream_.copy(gpu.get(), host, bytes_).ok());
    return gpu;
  }
  void bring_back(const std::byte* gpu, std::byte* host) const {
    EXPECT_TRUE(stream_.copy(host, gpu, bytes_).ok());
    EXPECT_TRUE(stream_.synchronize().ok());
  }

  device::CudaStream& stream_;
  const std::byte* const from_;
  std::byte* const to_;
  const std::size_t bytes_;
  std::shared_ptr<std::byte> from_gpu_;
  std::shared_ptr<std::byte> to_gpu_;
};

// Acts like a program with tensors on a GPU and its own stream.
class OnGpu : public PlaneOf<OnGpu> {
 public:
  struct Seat {
    int rank;
    int ranks;
  };
  OnGpu(DataPlane& plane, const device::CudaContext& context, const Seat& seat)
      : plane_(plane),
        seat_(seat),
        stream_(device::CudaStream::create(context).value()) {}

  std::string name() const override { return plane_.name(); }
  bool supports(const Device& device, std::size_t bytes) const override {
    return plane_.supports(device, bytes);
  }
  bool reduces_by(ReduceOp op) const override { return plane_.reduces_by(op); }

  absl::Status serve(const Barrier& what, const Call& call) {
    HVD_RETURN_IF_ERROR(introduced(call));
    return plane_.execute(what, spaced(call));
  }

  template <typename What>
  absl::Status serve(const What& what, const Call& call) {
    // Arguments that the plane refuses may point to no memory.
    if (!check(what, seat_.rank, seat_.ranks).ok()) {
      return plane_.execute(what, spaced(call));
    }
    HVD_RETURN_IF_ERROR(introduced(call));
    std::vector<Copied> copies;
    const absl::Status status = with_memory(
        what, seat_.rank,
        [&](const std::byte* from, std::byte* to, std::size_t bytes) {
          return copies.emplace_back(stream_, from, to, bytes).on_gpu();
        },
        [&](const What& there) {
          return made(call, [&](const Call& ordered) {
            return plane_.execute(there, ordered);
          });
        });
    for (const Copied& copy : copies) copy.bring_back();
    return status;
  }

  // A call may use several tags, so the tags of consecutive calls are kMaxTags
  // apart.
  static Call spaced(Call call) {
    constexpr std::uint32_t kMaxTags = 256;
    const std::uint32_t made = call.tag.sequence - kFirstSequence;
    call.tag.sequence = kFirstSequence + 1 + made * kMaxTags;
    return call;
  }

 private:
  // Introduces the plane before the first call that all ranks enter.
  absl::Status introduced(const Call& call) {
    if (!plane_.needs_introduction()) return absl::OkStatus();
    Call before = spaced(call);
    --before.tag.sequence;
    return plane_.introduce(Device::cuda(stream_.context().index), before);
  }

  // Copies to the GPU may still be queued: the plane must wait for them.
  template <typename F>
  absl::Status made(Call call, F f) {
    call.tag = spaced(call).tag;
    const device::CudaEvent written =
        device::CudaEvent::after(stream_.context(), stream_.handle()).value();
    const device::CudaEvent* const events[] = {&written};
    call.after = events;
    return f(call);
  }

  DataPlane& plane_;
  const Seat seat_;
  device::CudaStream stream_;
};

// Two ranks share a GPU.
inline void run_staged(transport::Communicator& communicator, int ranks_here,
                       device::Gpus& gpus, const Body& body) {
  run_on_shm(communicator, ranks_here, [&](Member& member) {
    // Small chunks, so that small tensors have many.
    StagedPlane staged({.gpus = gpus,
                        .planes = {&member.plane},
                        .rank = member.rank,
                        .ranks = member.ranks,
                        .memory = nullptr,
                        .chunk_bytes = 1024});
    OnGpu plane(staged,
                gpus.driver()
                    .value()
                    ->context(member.rank / 2 % testing::TestGpus::count())
                    .value(),
                {.rank = member.rank, .ranks = member.ranks});
    Member there = {plane, member.rank, member.ranks, member.ranks_here,
                    member.interrupt};
    body(there);
  });
}

// The GPUs of a process and the windows that other processes open.
struct SharedGpus {
  device::Gpus gpus{testing::TestGpus::cuda_library()};
  IpcWindows windows = {};
};

// Owns one rank's GPU planes, one for each set of members.
class IpcSets {
 public:
  using MakeHost = std::function<std::unique_ptr<DataPlane>(
      const std::vector<int>& members)>;
  using MakeIpc = std::function<std::unique_ptr<IpcPlane>(
      const std::vector<int>& members, DataPlane& staged)>;
  IpcSets(SharedGpus& shared, int rank, const device::CudaContext& context,
          MakeHost host, MakeIpc ipc)
      : shared_(shared),
        rank_(rank),
        context_(context),
        make_host_(std::move(host)),
        make_ipc_(std::move(ipc)) {}

  DataPlane& host(const std::vector<int>& members) {
    return *between(members).host;
  }
  DataPlane& staged(const std::vector<int>& members) {
    return *between(members).staged;
  }
  IpcPlane& ipc(const std::vector<int>& members) {
    return *between(members).ipc;
  }
  std::unique_ptr<OnGpu> on_gpu(const std::vector<int>& members) {
    return std::make_unique<OnGpu>(ipc(members), context_, seat_in(members));
  }

 private:
  struct Set {
    std::unique_ptr<DataPlane> host;
    std::unique_ptr<StagedPlane> staged;
    std::unique_ptr<IpcPlane> ipc;
  };

  OnGpu::Seat seat_in(const std::vector<int>& members) const {
    return {.rank = position_in(members, rank_).value(),
            .ranks = static_cast<int>(members.size())};
  }
  Set& between(const std::vector<int>& members) {
    Set& set = sets_[members];
    if (set.host != nullptr) return set;
    const OnGpu::Seat seat = seat_in(members);
    set.host = make_host_(members);
    set.staged = std::make_unique<StagedPlane>(
        StagedPlane::Means{.gpus = shared_.gpus,
                           .planes = {set.host.get()},
                           .rank = seat.rank,
                           .ranks = seat.ranks});
    set.ipc = make_ipc_(members, *set.staged);
    return set;
  }

  SharedGpus& shared_;
  const int rank_;
  const device::CudaContext context_;
  const MakeHost make_host_;
  const MakeIpc make_ipc_;
  std::map<std::vector<int>, Set> sets_;
};

// One rank of a node; two ranks share a GPU. The windows are so small that
// small tensors need many chunks.
class IpcSeat {
 public:
  static constexpr std::size_t kHalfBytes = 2048;

  IpcSeat(transport::Communicator& communicator, SharedGpus& shared)
      : shared_(shared),
        topology_(
            Topology::from_peers(communicator.rank(), communicator.peers())
                .value()),
        segment_(transport::NodeSegment::open(
                     communicator, topology_,
                     ShmBoard::bytes_needed(topology_.local_size()), soon())
                     .value()),
        board_(*segment_, segment_->payload(), test_waiting(ranks())),
        sets_(
            shared, rank(), context(),
            [this](const std::vector<int>& members) {
              return std::make_unique<ShmPlane>(board_, members);
            },
            [this](const std::vector<int>& members, DataPlane& staged) {
              return make_plane(members, staged);
            }) {}

  int rank() const { return topology_.local_rank(); }
  int ranks() const { return topology_.local_size(); }
  int gpu() const { return rank() / 2 % testing::TestGpus::count(); }
  device::CudaContext context() const {
    return shared_.gpus.driver().value()->context(gpu()).value();
  }
  IpcSets& sets() { return sets_; }
  DataPlane& host() { return sets_.host(all_ranks(ranks())); }
  std::unique_ptr<OnGpu> on_gpu() { return sets_.on_gpu(all_ranks(ranks())); }

  // Makes another plane between all ranks.
  std::unique_ptr<IpcPlane> make_plane() {
    const std::vector<int> all = all_ranks(ranks());
    return make_plane(all, sets_.staged(all));
  }

 private:
  std::unique_ptr<IpcPlane> make_plane(const std::vector<int>& members,
                                       DataPlane& otherwise) {
    return std::make_unique<IpcPlane>(
        IpcPlane::Means{.gpus = shared_.gpus,
                        .board = board_,
                        .members = members,
                        .otherwise = otherwise,
                        .windows = windows_,
                        .ranks_of_job = members},
        IpcPlane::Options{.half_bytes = kHalfBytes});
  }

  SharedGpus& shared_;
  const Topology topology_;
  const std::unique_ptr<transport::NodeSegment> segment_;
  ShmBoard board_;
  IpcRankWindows windows_{shared_.windows};
  IpcSets sets_;
};

// Runs `body` with the plane between all ranks that `seat` holds.
template <typename Seat>
void run_on_seat(Seat& seat, int ranks_here, const Body& body) {
  NeverInterrupt interrupt;
  const auto plane = seat.on_gpu();
  Member member = {*plane,
                   seat.rank(),
                   seat.ranks(),
                   ranks_here,
                   interrupt,
                   [&](const std::vector<int>& members) {
                     return seat.sets().on_gpu(members);
                   }};
  body(member);
}

inline void run_on_ipc(transport::Communicator& communicator, int ranks_here,
                       SharedGpus& shared, const Body& body) {
  IpcSeat seat(communicator, shared);
  run_on_seat(seat, ranks_here, body);
}

class StagedOfThreads {
 public:
  void run(const Body& body) {
    testing::TestGpus::set_delay(20);
    device::Gpus gpus(testing::TestGpus::cuda_library());
    for (const int ranks : {1, 3}) {
      on_loopback(ranks, [&](transport::Communicator& communicator) {
        run_staged(communicator, ranks, gpus, body);
      });
    }
  }
};

class IpcOfThreads {
 public:
  void run(const Body& body) {
    testing::TestGpus::set_delay(20);
    SharedGpus shared;
    for (const int ranks : {1, 2, 3}) {
      on_loopback(ranks, [&](transport::Communicator& communicator) {
        run_on_ipc(communicator, ranks, shared, body);
      });
    }
  }
};

}  // namespace hvd::collective
