// SPDX-License-Identifier: Apache-2.0
// A plane that moves nothing. It records its calls and returns the results that
// a test sets.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/collective/data_plane.h"

namespace hvd::runtime {

// The calls of a FakePlane; the test owns them.
struct FakeCalls {
  struct Entry {
    std::string kind;
    transport::DataTag tag = {};
    std::vector<collective::Piece> pieces = {};
    std::vector<std::int64_t> counts = {};
    collective::Reduction reduction = {};
    std::vector<std::size_t> sizes = {};    // allgather; alltoall: to send
    std::vector<std::size_t> receive = {};  // alltoall
    std::size_t bytes = 0;                  // broadcast; otherwise bytes sent
    int root = -1;
    bool reads = false;   // broadcast: has an input
    bool writes = false;  // allgather_alike, alltoall_alike: has an output
  };
  std::vector<Entry> made;
  // Fills the output of an allgather. Default: leaves the output unchanged.
  std::function<void(std::byte* output)> gather = nullptr;
  // Fills in each rank's bytes, or what ranks send to each other, and returns
  // whether they are equal. Unset: the plane cannot tell.
  std::function<bool(std::span<std::size_t> sizes)> alike = nullptr;
  bool meets_in_broadcast = false;
  // Sees the inputs and writes the outputs of a reduction.
  std::function<void(const collective::Piece&)> reduce = nullptr;
  // The outcome of call number i.
  std::function<absl::Status(std::size_t)> outcome = nullptr;

  std::vector<std::string> kinds() const {
    std::vector<std::string> kinds;
    for (const Entry& entry : made) kinds.push_back(entry.kind);
    return kinds;
  }
};

class FakePlane : public collective::DataPlane {
 public:
  explicit FakePlane(FakeCalls& calls) : calls_(calls) {}

  std::string name() const override { return "fake"; }
  bool supports(const Device& device, std::size_t) const override {
    return device.is_cpu();
  }
  absl::Status allreduce(std::span<const collective::Piece> pieces,
                         const collective::Reduction& reduction,
                         collective::Call call) override {
    if (calls_.reduce) {
      for (const collective::Piece& piece : pieces) calls_.reduce(piece);
    }
    return note({.kind = "allreduce",
                 .tag = call.tag,
                 .pieces = {pieces.begin(), pieces.end()},
                 .reduction = reduction});
  }
  absl::Status reducescatter(std::span<const collective::Piece> pieces,
                             std::span<const std::int64_t> counts,
                             const collective::Reduction& reduction,
                             collective::Call call) override {
    if (calls_.reduce) {
      for (const collective::Piece& piece : pieces) calls_.reduce(piece);
    }
    return note({.kind = "reducescatter",
                 .tag = call.tag,
                 .pieces = {pieces.begin(), pieces.end()},
                 .counts = {counts.begin(), counts.end()},
                 .reduction = reduction});
  }
  absl::Status allgather(std::span<const std::byte> mine,
                         std::span<const std::size_t> bytes_of_rank,
                         std::byte* output, collective::Call call) override {
    if (calls_.gather) calls_.gather(output);
    return note({.kind = "allgather",
                 .tag = call.tag,
                 .sizes = {bytes_of_rank.begin(), bytes_of_rank.end()},
                 .bytes = mine.size()});
  }
  bool gathers_alike() const override { return calls_.alike != nullptr; }
  absl::StatusOr<bool> allgather_alike(std::span<const std::byte> mine,
                                       std::span<std::size_t> bytes_of_rank,
                                       std::byte* output,
                                       collective::Call call) override {
    const absl::Status status = note({.kind = "allgather_alike",
                                      .tag = call.tag,
                                      .bytes = mine.size(),
                                      .writes = output != nullptr});
    if (!status.ok()) return status;
    return calls_.alike(bytes_of_rank);
  }
  absl::StatusOr<bool> alltoall_alike(std::span<const std::byte> input,
                                      std::span<std::size_t> sizes,
                                      std::byte* output,
                                      collective::Call call) override {
    const absl::Status status = note({.kind = "alltoall_alike",
                                      .tag = call.tag,
                                      .sizes = {sizes.begin(), sizes.end()},
                                      .bytes = input.size(),
                                      .writes = output != nullptr});
    if (!status.ok()) return status;
    return calls_.alike(sizes);
  }
  bool meets_in_broadcast() const override { return calls_.meets_in_broadcast; }
  absl::Status broadcast(const std::byte* input, std::byte*, std::size_t bytes,
                         int root, collective::Call call) override {
    return note({.kind = "broadcast",
                 .tag = call.tag,
                 .bytes = bytes,
                 .root = root,
                 .reads = input != nullptr});
  }
  absl::Status alltoall(std::span<const std::byte> input,
                        std::span<const std::size_t> send_bytes, std::byte*,
                        std::span<const std::size_t> receive_bytes,
                        collective::Call call) override {
    return note({.kind = "alltoall",
                 .tag = call.tag,
                 .sizes = {send_bytes.begin(), send_bytes.end()},
                 .receive = {receive_bytes.begin(), receive_bytes.end()},
                 .bytes = input.size()});
  }
  absl::Status barrier(collective::Call call) override {
    return note({.kind = "barrier", .tag = call.tag});
  }

 private:
  absl::Status note(FakeCalls::Entry entry) {
    calls_.made.push_back(std::move(entry));
    return calls_.outcome ? calls_.outcome(calls_.made.size() - 1)
                          : absl::OkStatus();
  }

  FakeCalls& calls_;
};

}  // namespace hvd::runtime
