// SPDX-License-Identifier: Apache-2.0
// MpiTags divides MPI's tags. One bit tells data from mail; the rest of a data
// tag holds the low bits of generation, epoch and sequence. A generation is the
// lifetime of one communicator in the process.
//
// MPI promises 15 bits; Open MPI gives 31, and MPICH 20 or more. Messages of
// abandoned calls are never removed, so tags should not repeat soon. With 31
// bits, two generations, or two epochs, share a tag when they are 1024 apart.
#pragma once

#include <bit>
#include <cstdint>

#include "horovodpp/transport/communicator.h"

namespace hvd::transport {

class MpiTags {
 public:
  // `upper_bound` is the value of MPI_TAG_UB, at least 32767.
  explicit MpiTags(int upper_bound)
      : data_bits_(static_cast<int>(std::bit_width(
                       static_cast<unsigned>(upper_bound) + 1u)) -
                   2),
        generation_bits_(data_bits_ >= kMany ? 10 : 3) {}

  int mail(std::uint32_t generation) const {
    return static_cast<int>(low(generation, generation_bits_));
  }
  int exchange(std::uint32_t generation) const {
    return mail(generation) + (1 << generation_bits_);
  }
  // For the final meeting, which belongs to no generation.
  int finalize_barrier() const { return 2 << generation_bits_; }
  int data(std::uint32_t generation, DataTag tag) const {
    const int sequence_bits = (data_bits_ - generation_bits_) / 2;
    const int epoch_bits = data_bits_ - generation_bits_ - sequence_bits;
    std::uint32_t bits = 1;
    bits = bits << generation_bits_ | low(generation, generation_bits_);
    bits = bits << epoch_bits | low(tag.epoch, epoch_bits);
    // Fold high bits in: the low bits number the calls of one batch, and are 0
    // for most batches.
    bits = bits << sequence_bits |
           low(tag.sequence ^ tag.sequence >> 12, sequence_bits);
    return static_cast<int>(bits);
  }

 private:
  static constexpr int kMany = 24;
  static std::uint32_t low(std::uint32_t value, int bits) {
    return value & ((1u << bits) - 1u);
  }

  int data_bits_;  // Below the bit that marks data.
  int generation_bits_;
};

}  // namespace hvd::transport
