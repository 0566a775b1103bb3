// SPDX-License-Identifier: Apache-2.0
// Compression whose messages cannot be added: every rank gathers all ranks'
// messages and decodes them, in the order of ranks. A Codec defines the
// messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "horovodpp/compression/compressor.h"
#include "horovodpp/compression/error_feedback.h"

namespace hvd::compression {

// The parameters of a message: the number of elements of its gradient, and the
// number of messages of that gradient before. Equal on all ranks.
struct Piece {
  std::int64_t elements = 0;
  std::int64_t step = 0;
};

class Codec {
 public:
  virtual ~Codec() = default;
  virtual std::string name() const = 0;
  // The size of the message; at least 1 for at least one element.
  virtual std::size_t bytes(const Piece& piece) const = 0;
  // For large gradients, after warm-up: message bytes per gradient byte.
  virtual double bytes_per_byte() const = 0;
  virtual void encode(const float* x, const Piece& piece,
                      std::byte* message) const = 0;
  // sum += decoded message. The message may come from another rank and is
  // untrusted: decoding never accesses memory beyond the piece's elements.
  virtual void decode_add(const std::byte* message, const Piece& piece,
                          float* sum) const = 0;
  // x -= decoded message. `velocity`, if not nullptr, becomes 0 where the
  // message is not 0.
  virtual void take_out(const std::byte* message, const Piece& piece, float* x,
                        float* velocity) const;
};

// For the preparation of each rank's gradients see ErrorFeedback.
std::unique_ptr<Compressor> gathered(std::unique_ptr<Codec> codec,
                                     const FeedbackOptions& feedback = {});

}  // namespace hvd::compression
