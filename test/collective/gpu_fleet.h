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
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/collective/call_checks.h"
#include "horovodpp/collective/data_plane.h"
#include "horovodpp/collective/ipc/plane.h"
#include "horovodpp/collective/staged_plane.h"
#include "horovodpp/core/ranks.h"
#include "horovodpp/device/cuda_memory.h"
#include "horovodpp/device/cuda_stream.h"
#include "test/collective/fleets.h"
#include "test/support/test_gpus.h"

namespace hvd::collective {

inline constexpr std::uint32_t kFirstSequence =
    0xfffffff0;  // The sequence number of a Member's first call.

// Host memory and its copy on a GPU.
class Mirrored {
 public:
  Mirrored(device::CudaStream& stream, const void* host, std::size_t bytes)
      : stream_(stream),
        bytes_(bytes),
        gpu_(device::allocate_on(stream.context(), bytes).value()) {
    if (host == nullptr) return;
    EXPECT_TRUE(stream_.copy(gpu_.get(), host, bytes_).ok());
  }

  std::byte* gpu() const { return gpu_.get(); }
  void copy_to(void* host) const {
    EXPECT_TRUE(stream_.copy(host, gpu_.get(), bytes_).ok());
    EXPECT_TRUE(stream_.synchronize().ok());
  }

 private:
  device::CudaStream& stream_;
  const std::size_t bytes_;
  const std::shared_ptr<std::byte> gpu_;
};

// Acts like a program with tensors on a GPU and its own stream.
class OnGpu : public DataPlane {
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

  absl::Status allreduce(std::span<const Piece> pieces,
                         const Reduction& reduction, Call call) override {
    HVD_RETURN_IF_ERROR(introduced(call));
    std::vector<Piece> there(pieces.begin(), pieces.end());
    std::vector<Mirrored> memory;
    for (Piece& piece : there) {
      const auto bytes =
          static_cast<std::size_t>(piece.count) * size_of(reduction.dtype);
      const bool in_place = piece.input == piece.output;
      piece.input = memory.emplace_back(stream_, piece.input, bytes).gpu();
      if (!in_place) memory.emplace_back(stream_, piece.output, bytes);
      piece.output = memory.back().gpu();
    }
    const absl::Status status = made(call, [&](const Call& ordered) {
      return plane_.allreduce(there, reduction, ordered);
    });
    std::size_t next = 0;
    for (const Piece& piece : pieces) {
      const bool in_place = piece.input == piece.output;
      if (!in_place) memory[next++].copy_to(const_cast<void*>(piece.input));
      memory[next++].copy_to(piece.output);
    }
    return status;
  }

  absl::Status reducescatter(std::span<const Piece> pieces,
                             std::span<const std::int64_t> counts,
                             const Reduction& reduction, Call call) override {
    // Arguments that the plane refuses may point to no memory.
    if (!check_reducescatter(pieces, counts, seat_.ranks).ok()) {
      return plane_.reducescatter(pieces, counts, reduction, spaced(call));
    }
    HVD_RETURN_IF_ERROR(introduced(call));
    std::vector<Piece> there(pieces.begin(), pieces.end());
    std::vector<Mirrored> outputs;
    std::vector<Mirrored> inputs;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const std::size_t size = size_of(reduction.dtype);
      const auto part = counts[i * static_cast<std::size_t>(seat_.ranks) +
                               static_cast<std::size_t>(seat_.rank)];
      inputs.emplace_back(stream_, pieces[i].input,
                          static_cast<std::size_t>(pieces[i].count) * size);
      outputs.emplace_back(stream_, pieces[i].output,
                           static_cast<std::size_t>(part) * size);
      there[i].input = inputs.back().gpu();
      there[i].output = outputs.back().gpu();
    }
    const absl::Status status = made(call, [&](const Call& ordered) {
      return plane_.reducescatter(there, counts, reduction, ordered);
    });
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      outputs[i].copy_to(pieces[i].output);
    }
    return status;
  }

  absl::Status allgather(std::span<const std::byte> mine,
                         std::span<const std::size_t> bytes_of_rank,
                         std::byte* output, Call call) override {
    HVD_RETURN_IF_ERROR(introduced(call));
    const Mirrored input(stream_, mine.data(), mine.size());
    const Mirrored result(stream_, output,
                          output == nullptr ? 0 : sum(bytes_of_rank));
    const absl::Status status = made(call, [&](const Call& ordered) {
      return plane_.allgather({input.gpu(), mine.size()}, bytes_of_rank,
                              result.gpu(), ordered);
    });
    result.copy_to(output);
    return status;
  }

  absl::Status broadcast(const std::byte* input, std::byte* output,
                         std::size_t bytes, int root, Call call) override {
    HVD_RETURN_IF_ERROR(introduced(call));
    const Mirrored sent(stream_, input, input == nullptr ? 0 : bytes);
    const Mirrored result(stream_, output, bytes);
    const absl::Status status = made(call, [&](const Call& ordered) {
      return plane_.broadcast(sent.gpu(),
                              input == output ? sent.gpu() : result.gpu(),
                              bytes, root, ordered);
    });
    (input == output ? sent : result).copy_to(output);
    return status;
  }

  absl::Status alltoall(std::span<const std::byte> input,
                        std::span<const std::size_t> send_bytes,
                        std::byte* output,
                        std::span<const std::size_t> receive_bytes,
                        Call call) override {
    HVD_RETURN_IF_ERROR(introduced(call));
    const Mirrored sent(stream_, input.data(), input.size());
    const Mirrored result(stream_, output, sum(receive_bytes));
    const absl::Status status = made(call, [&](const Call& ordered) {
      return plane_.alltoall({sent.gpu(), input.size()}, send_bytes,
                             result.gpu(), receive_bytes, ordered);
    });
    result.copy_to(output);
    return status;
  }

  absl::Status barrier(Call call) override {
    HVD_RETURN_IF_ERROR(introduced(call));
    return plane_.barrier(spaced(call));
  }

  // A call may use several tags, so the tags of consecutive calls are kMostTags
  // apart.
  static Call spaced(Call call) {
    constexpr std::uint32_t kMostTags = 256;
    const std::uint32_t made = call.tag.sequence - kFirstSequence;
    call.tag.sequence = kFirstSequence + 1 + made * kMostTags;
    return call;
  }

 private:
  static std::size_t sum(std::span<const std::size_t> sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
  }

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

// One rank's GPU planes, one for each set of members. They live as long as this
// object.
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
