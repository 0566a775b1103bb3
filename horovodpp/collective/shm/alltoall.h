// SPDX-License-Identifier: Apache-2.0
// An ShmAlltoall is an alltoall between ranks of a node: each shows in chunks all
// that it sends, and everyone picks what is for it. How many chunks that takes,
// and whether the sizes fit together, is known only once all have shown their
// sizes.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "horovodpp/collective/host_plane.h"
#include "horovodpp/collective/shm/seat.h"

namespace hvd::collective {

class ShmAlltoall {
 public:
  // Borrows its arguments.
  ShmAlltoall(const BoardSeat& seat, const HostPlane::Exchange& exchange)
      : seat_(seat), exchange_(exchange) {}

  // Once, within a call on the board.
  //   InvalidArgument  a rank sends another size than its receiver expects; the
  //                    same on all ranks
  absl::Status run();

 private:
  // What one rank sends to this one: where it lies in all that it sends, and
  // where it goes.
  struct Delivery {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::byte* output = nullptr;
  };

  absl::Status share_sizes();
  absl::Status check_sizes() const;
  absl::Status deliver();
  // Sets deliveries_; returns how much the rank sends that sends most.
  std::size_t plan();
  // Copies the i-th chunk of what this rank sends, but for what it sends to
  // itself.
  void show(std::uint64_t i, std::byte* slot) const;
  void pick(std::uint64_t i, std::uint64_t step) const;

  const BoardSeat& seat_;
  const HostPlane::Exchange& exchange_;
  // A row for each rank: what it sends to each, then what it expects from each.
  std::vector<std::size_t> table_;
  std::vector<Delivery> deliveries_;  // By sender.
};

}  // namespace hvd::collective
