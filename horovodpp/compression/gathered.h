// SPDX-License-Identifier: Apache-2.0
// Compression whose messages cannot be added: every rank gathers those of all and
// decodes them, in the order of ranks. A Codec says what a message looks like.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "horovodpp/compression/compressor.h"

namespace hvd::compression {

class Codec {
 public:
  virtual ~Codec() = default;
  virtual std::string name() const = 0;
  // Of the message for so many elements; at least 1 for at least one.
  virtual std::size_t bytes(std::int64_t elements) const = 0;
  // For large gradients, bytes of the message for each of the gradient.
  virtual double bytes_per_byte() const = 0;
  virtual void encode(const float* x, std::int64_t elements,
                      std::byte* message) const = 0;
  // sum += what the message says. What comes from another rank is only data: it
  // reads and writes nothing beyond `elements`.
  virtual void decode_add(const std::byte* message, std::int64_t elements,
                          float* sum) const = 0;
};

std::unique_ptr<Compressor> gathered(std::unique_ptr<Codec> codec);

}  // namespace hvd::compression
