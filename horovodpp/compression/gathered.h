// SPDX-License-Identifier: Apache-2.0
// Compression whose messages cannot be added: every rank gathers those of all and
// decodes them, in the order of ranks. A Codec says what a message looks like.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "horovodpp/compression/compressor.h"
#include "horovodpp/compression/error_feedback.h"

namespace hvd::compression {

// What a message is made of: a gradient of so many elements, of which so many
// were sent before this one. Equal on all ranks.
struct Piece {
  std::int64_t elements = 0;
  std::int64_t step = 0;
};

class Codec {
 public:
  virtual ~Codec() = default;
  virtual std::string name() const = 0;
  // Of the message; at least 1 for at least one element.
  virtual std::size_t bytes(const Piece& piece) const = 0;
  // For large gradients, once warm-up is over: bytes of the message for each of
  // the gradient.
  virtual double bytes_per_byte() const = 0;
  virtual void encode(const float* x, const Piece& piece,
                      std::byte* message) const = 0;
  // sum += what the message says. What comes from another rank is only data: it
  // reads and writes nothing beyond the piece's elements.
  virtual void decode_add(const std::byte* message, const Piece& piece,
                          float* sum) const = 0;
  // x -= what the message says. `velocity`, if not nullptr, becomes 0 where it says
  // something else than 0.
  virtual void take_out(const std::byte* message, const Piece& piece, float* x,
                        float* velocity) const;
};

// What each rank makes of its gradients before: see ErrorFeedback.
std::unique_ptr<Compressor> gathered(std::unique_ptr<Codec> codec,
                                     const FeedbackOptions& feedback = {});

}  // namespace hvd::compression
