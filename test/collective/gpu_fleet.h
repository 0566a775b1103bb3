// SPDX-License-Identifier: Apache-2.0
// A fleet whose tensors lie on GPUs, for suites that know only memory of the host:
// each call is made with copies of its arguments on the stand-in's GPUs, which are
// copied back when it has returned.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
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
#include "test/support/fake_cuda/fake_cuda.h"

namespace hvd::collective {

inline constexpr std::uint32_t kFirstSequence =
    0xfffffff0;  // Of a Member's calls.

// Memory of the host, and its copy on a GPU.
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

// What a program does that has its tensors on a GPU, and a stream of its own.
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
    // What is to be refused may have no memory behind it.
    if (!check_reducescatter(pieces, counts, seat_.ranks).ok()) {
      return plane_.reducescatter(pieces, counts, reduction, spaced(call));
    }
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
    return plane_.barrier(spaced(call));
  }

  // A call may use several tags: those of all calls here are so far apart.
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

  // Copies to the GPU may still be in the queue: the plane has to wait for them.
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

// Two ranks a GPU.
inline void run_staged(transport::Communicator& communicator, int ranks_here,
                       device::Gpus& gpus, const Body& body) {
  run_on_shm(communicator, ranks_here, [&](Member& member) {
    // Small chunks, so that little data makes many of them.
    StagedPlane staged({.gpus = gpus,
                        .planes = {&member.plane},
                        .rank = member.rank,
                        .ranks = member.ranks,
                        .memory = nullptr,
                        .chunk_bytes = 1024});
    OnGpu plane(staged, gpus.driver().value()->context(member.rank / 2).value(),
                {.rank = member.rank, .ranks = member.ranks});
    Member there = {plane, member.rank, member.ranks, member.ranks_here,
                    member.interrupt};
    body(there);
  });
}

// The GPUs of a process, and what it has made on them to be used by others.
struct SharedGpus {
  device::Gpus gpus{testing::FakeCuda::file()};
  IpcWindows windows = {};
};

// One rank's planes over shared memory: of the host, and of GPUs, one for two ranks, with
// windows so small that little data goes through them in many chunks.
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
        shm_(board_),
        staged_({.gpus = shared.gpus,
                 .planes = {&shm_},
                 .rank = rank(),
                 .ranks = ranks()}) {}

  int rank() const { return topology_.local_rank(); }
  int ranks() const { return topology_.local_size(); }
  int gpu() const { return rank() / 2; }
  device::CudaContext context() const {
    return shared_.gpus.driver().value()->context(gpu()).value();
  }
  ShmPlane& host() { return shm_; }

  // One that its members have introduced to each other.
  std::unique_ptr<IpcPlane> make_plane(const Call& call) {
    auto plane = std::make_unique<IpcPlane>(
        IpcPlane::Means{.gpus = shared_.gpus,
                        .board = board_,
                        .members = all_ranks(ranks()),
                        .otherwise = staged_,
                        .windows = shared_.windows},
        IpcPlane::Options{.half_bytes = kHalfBytes});
    if (plane->needs_introduction()) {
      EXPECT_EQ(plane->introduce(Device::cuda(gpu()), call), absl::OkStatus());
    }
    return plane;
  }

 private:
  SharedGpus& shared_;
  const Topology topology_;
  const std::unique_ptr<transport::NodeSegment> segment_;
  ShmBoard board_;
  ShmPlane shm_;
  StagedPlane staged_;
};

inline void run_on_ipc(transport::Communicator& communicator, int ranks_here,
                       SharedGpus& shared, const Body& body) {
  IpcSeat seat(communicator, shared);
  NeverInterrupt interrupt;
  const auto ipc =
      seat.make_plane({{.epoch = 1, .sequence = kFirstSequence}, interrupt});
  OnGpu plane(*ipc, seat.context(),
              {.rank = seat.rank(), .ranks = seat.ranks()});
  Member member = {plane, seat.rank(), seat.ranks(), ranks_here, interrupt};
  body(member);
}

class StagedOfThreads {
 public:
  void run(const Body& body) {
    testing::FakeCuda::set_delay(20);
    device::Gpus gpus(testing::FakeCuda::file());
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
    testing::FakeCuda::set_delay(20);
    SharedGpus shared;
    for (const int ranks : {1, 2, 3}) {
      on_loopback(ranks, [&](transport::Communicator& communicator) {
        run_on_ipc(communicator, ranks, shared, body);
      });
    }
  }
};

}  // namespace hvd::collective
