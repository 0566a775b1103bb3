// How MPI's tags are divided: one bit tells data from mail, the rest of a data
// tag holds the low bits of generation, epoch and sequence. A generation is the
// time between two communicators of a process. MPI promises 15 bits, Open MPI
// and MPICH give 31 and 20 or more; with 31 bits two epochs share a tag when
// they are 16384 apart.
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
                   2) {}

  int mail(std::uint32_t generation) const {
    return static_cast<int>(low(generation, kGenerationBits));
  }
  int exchange(std::uint32_t generation) const {
    return mail(generation) + (1 << kGenerationBits);
  }
  int data(std::uint32_t generation, DataTag tag) const {
    const int sequence_bits = (data_bits_ - kGenerationBits) / 2;
    const int epoch_bits = data_bits_ - kGenerationBits - sequence_bits;
    std::uint32_t bits = 1;
    bits = bits << kGenerationBits | low(generation, kGenerationBits);
    bits = bits << epoch_bits | low(tag.epoch, epoch_bits);
    bits = bits << sequence_bits | low(tag.sequence, sequence_bits);
    return static_cast<int>(bits);
  }

 private:
  static constexpr int kGenerationBits = 3;
  static std::uint32_t low(std::uint32_t value, int bits) {
    return value & ((1u << bits) - 1u);
  }

  int data_bits_;  // Below the bit that marks data.
};

}  // namespace hvd::transport
