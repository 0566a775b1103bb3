// A ShmBoard is the shared memory of a ShmPlane: slots through which the ranks
// of a node show each other data, and the counters that say what may be read.
//
// Data goes by in steps, numbered from 0 over the life of the board. In a step
// every rank fills its input slot and arrives; once all have arrived, all may
// read all inputs and each may write its part of the result slot; once all have
// reduced, all may read the result. The counters only grow and never wrap.
//
// There are three slots of each kind, used in turn, and these rules make three
// enough without any further synchronisation:
//   1. A rank arrives at step s + 1 only after it has seen all arrive at s.
//   2. It arrives at s only when it no longer reads the inputs of s - 2, and
//      the result of s - 3, or of anything before.
// So a rank that fills the slot of s + 1 knows that all have arrived at s, and
// therefore none reads the inputs of s - 2, whose slot it is. A rank that
// writes the result of s has seen all arrive at s, so none reads that of s - 3.
//
// Each rank has a board of its own over the same memory, which starts as zeros
// and serves one board per rank. Not thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "horovodpp/transport/communicator.h"
#include "horovodpp/transport/node_segment.h"
#include "horovodpp/transport/waiting.h"

namespace hvd::collective {

class ShmBoard {
 public:
  static constexpr std::size_t kAlignment = 128;

  // What a rank is in, written beside its arrival: equal on all ranks.
  struct Label {
    transport::DataTag tag;
    char kind = 0;            // The first letter of the collective's name.
    std::uint64_t bytes = 0;  // Below 2^56.
  };

  static std::size_t bytes_needed(int ranks, std::size_t slot_bytes);

  // `region` lies in the segment, is aligned to kAlignment and has
  // bytes_needed(). Both outlive the board.
  ShmBoard(transport::NodeSegment& segment, std::span<std::byte> region,
           std::size_t slot_bytes, const transport::WaitPolicy& waiting);

  int rank() const { return segment_.local_rank(); }
  int ranks() const { return segment_.local_size(); }

  std::byte* input(int rank, std::uint64_t step) const;
  std::byte* result(std::uint64_t step) const;

  // Says that this rank's input of `step` is in its slot.
  void arrive(std::uint64_t step, const Label& label);
  // Says that this rank's part of the result of `step` is in its slot.
  void finish(std::uint64_t step);

  // Wait until all ranks have; or return the watch's error.
  absl::Status wait_for_arrivals(std::uint64_t step, transport::Watch& watch);
  absl::Status wait_for_results(std::uint64_t step, transport::Watch& watch);

  // After wait_for_arrivals(step).
  //   Internal  a rank has arrived with another label; names both
  absl::Status check_labels(std::uint64_t step, const Label& label) const;

 private:
  static constexpr std::size_t kSlots = 3;

  // One rank's words. All zeros is its start.
  struct alignas(kAlignment) Line {
    std::atomic<std::uint64_t> arrived;   // One more than the last step.
    std::atomic<std::uint64_t> finished;  // Likewise.
    std::array<std::atomic<std::uint64_t>, kSlots> tag;
    std::array<std::atomic<std::uint64_t>, kSlots> kind_and_bytes;
  };
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

  Line& line(int rank) const;
  absl::Status wait(std::atomic<std::uint64_t> Line::*counter,
                    std::uint64_t least, transport::Watch& watch);

  transport::NodeSegment& segment_;
  const std::span<std::byte> region_;
  const std::size_t slot_bytes_;
  const transport::WaitPolicy waiting_;
};

}  // namespace hvd::collective
