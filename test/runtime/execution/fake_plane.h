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

class FakePlane : public collective::PlaneOf<FakePlane> {
 public:
  explicit FakePlane(FakeCalls& calls) : calls_(calls) {}

  std::string name() const override { return "fake"; }
  bool supports(const Device& device, std::size_t) const override {
    return device.is_cpu();
  }
  absl::Status serve(const collective::Allreduce& what,
                     const collective::Call& call) {
    if (calls_.reduce) {
      for (const collective::Piece& piece : what.pieces) calls_.reduce(piece);
    }
    return note({.kind = "allreduce",
                 .tag = call.tag,
                 .pieces = {what.pieces.begin(), what.pieces.end()},
                 .reduction = what.reduction});
  }
  absl::Status serve(const collective::Reducescatter& what,
                     const collective::Call& call) {
    if (calls_.reduce) {
      for (const collective::Piece& piece : what.pieces) calls_.reduce(piece);
    }
    return note({.kind = "reducescatter",
                 .tag = call.tag,
                 .pieces = {what.pieces.begin(), what.pieces.end()},
                 .counts = {what.counts.begin(), what.counts.end()},
                 .reduction = what.reduction});
  }
  absl::Status serve(const collective::Allgather& what,
                     const collective::Call& call) {
    if (calls_.gather) calls_.gather(what.output);
    return note(
        {.kind = "allgather",
         .tag = call.tag,
         .sizes = {what.bytes_of_rank.begin(), what.bytes_of_rank.end()},
         .bytes = what.mine.size()});
  }
  absl::Status serve(const collective::Broadcast& what,
                     const collective::Call& call) {
    return note({.kind = "broadcast",
                 .tag = call.tag,
                 .bytes = what.bytes,
                 .root = what.root,
                 .reads = what.input != nullptr});
  }
  absl::Status serve(const collective::Alltoall& what,
                     const collective::Call& call) {
    return note(
        {.kind = "alltoall",
         .tag = call.tag,
         .sizes = {what.send_bytes.begin(), what.send_bytes.end()},
         .receive = {what.receive_bytes.begin(), what.receive_bytes.end()},
         .bytes = what.input.size()});
  }
  absl::Status serve(const collective::Barrier&, const collective::Call& call) {
    return note({.kind = "barrier", .tag = call.tag});
  }

  using PlaneOf::execute;
  absl::StatusOr<bool> execute(const collective::AllgatherAlike& what,
                               collective::Call call) override {
    const absl::Status status = note({.kind = "allgather_alike",
                                      .tag = call.tag,
                                      .bytes = what.mine.size(),
                                      .writes = what.output != nullptr});
    if (!status.ok()) return status;
    return calls_.alike(what.bytes_of_rank);
  }
  absl::StatusOr<bool> execute(const collective::AlltoallAlike& what,
                               collective::Call call) override {
    const absl::Status status =
        note({.kind = "alltoall_alike",
              .tag = call.tag,
              .sizes = {what.sizes.begin(), what.sizes.end()},
              .bytes = what.input.size(),
              .writes = what.output != nullptr});
    if (!status.ok()) return status;
    return calls_.alike(what.sizes);
  }
  bool gathers_alike() const override { return calls_.alike != nullptr; }
  bool meets_in_broadcast() const override { return calls_.meets_in_broadcast; }

 private:
  absl::Status note(FakeCalls::Entry entry) {
    calls_.made.push_back(std::move(entry));
    return calls_.outcome ? calls_.outcome(calls_.made.size() - 1)
                          : absl::OkStatus();
  }

  FakeCalls& calls_;
};

}  // namespace hvd::runtime
