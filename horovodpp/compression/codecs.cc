// SPDX-License-Identifier: Apache-2.0
// Messages are read and written by memcpy, because their parts may be
// unaligned.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/compression/compressors.h"
#include "horovodpp/compression/gathered.h"
#include "horovodpp/compression/largest.h"
#include "horovodpp/core/error.h"

namespace hvd::compression {
namespace {

template <typename T>
T read(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <typename T>
void write(T value, std::byte* to) {
  std::memcpy(to, &value, sizeof value);
}

// This form also rejects NaN.
template <typename T>
void check_not_negative(const char* compressor, const char* what, T value) {
  if (value >= 0) return;
  throw InvalidArgument(absl::StrCat(compressor, ": ", what, " is ", value,
                                     "; it must not be negative"));
}

void check_momentum(const char* compressor, double momentum) {
  if (momentum >= 0 && momentum < 1) return;
  throw InvalidArgument(absl::StrCat(compressor, ": the momentum is ", momentum,
                                     "; it must be in [0, 1)"));
}

// The size of the uncompressed numbers.
std::size_t whole_bytes(const Piece& piece) {
  return static_cast<std::size_t>(piece.elements) * sizeof(float);
}

void encode_whole(const float* x, const Piece& piece, std::byte* message) {
  if (piece.elements > 0) std::memcpy(message, x, whole_bytes(piece));
}

void decode_add_whole(const std::byte* message, const Piece& piece,
                      float* sum) {
  for (std::int64_t i = 0; i < piece.elements; ++i) {
    sum[i] += read<float>(message + i * std::int64_t{sizeof(float)});
  }
}

// A message has for each block its factor, then a byte for each element.
class Int8Blocks : public Codec {
 public:
  std::string name() const override { return "int8"; }
  std::size_t bytes(const Piece& piece) const override {
    const std::int64_t blocks = (piece.elements + kBlock - 1) / kBlock;
    return static_cast<std::size_t>(piece.elements) +
           static_cast<std::size_t>(blocks) * sizeof(float);
  }
  double bytes_per_byte() const override {
    return (1.0 + sizeof(float) / static_cast<double>(kBlock)) / sizeof(float);
  }
  void encode(const float* x, const Piece& piece,
              std::byte* message) const override {
    for (std::int64_t at = 0; at < piece.elements; at += kBlock) {
      const std::int64_t count = std::min(kBlock, piece.elements - at);
      message = encode_block(x + at, count, message);
    }
  }
  void decode_add(const std::byte* message, const Piece& piece,
                  float* sum) const override {
    for (std::int64_t at = 0; at < piece.elements; at += kBlock) {
      const auto factor = read<float>(message);
      message += sizeof factor;
      const std::int64_t count = std::min(kBlock, piece.elements - at);
      for (std::int64_t i = 0; i < count; ++i) {
        sum[at + i] +=
            factor * static_cast<float>(read<std::int8_t>(message + i));
      }
      message += count;
    }
  }

 private:
  static constexpr std::int64_t kBlock = 256;

  static std::byte* encode_block(const float* x, std::int64_t count,
                                 std::byte* message) {
    float largest = 0.0f;
    bool is_finite = true;
    for (std::int64_t i = 0; i < count; ++i) {
      is_finite = is_finite && std::isfinite(x[i]);
      largest = std::max(largest, std::abs(x[i]));
    }
    // A factor that is not finite makes the whole block so.
    const float factor =
        is_finite ? largest / 127.0f : std::numeric_limits<float>::quiet_NaN();
    write(factor, message);
    message += sizeof factor;
    for (std::int64_t i = 0; i < count; ++i) {
      // For subnormal numbers the quotient may be anything.
      const float steps =
          is_finite && factor > 0
              ? std::clamp(std::nearbyint(x[i] / factor), -127.0f, 127.0f)
              : 0.0f;
      write(static_cast<std::int8_t>(steps), message + i);
    }
    return message + count;
  }
};

// A message has places, then values; or, for few elements, all values. During
// warm-up the share falls as a geometric sequence.
class TopK : public Codec {
 public:
  explicit TopK(const TopKOptions& options) : options_(options) {
    check_share("share", options.share);
    check_share("warmup_share", options.warmup_share);
    check_not_negative("top_k", "warmup_steps", options.warmup_steps);
    check_momentum("top_k", options.momentum);
    check_not_negative("top_k", "whole_below", options.whole_below);
    check_not_negative("top_k", "max_norm", options.max_norm);
  }
  std::string name() const override { return "top-k"; }
  std::size_t bytes(const Piece& piece) const override {
    if (is_whole(piece)) return whole_bytes(piece);
    return static_cast<std::size_t>(kept(piece)) *
           (sizeof(std::uint32_t) + sizeof(float));
  }
  double bytes_per_byte() const override { return 2 * options_.share; }
  void encode(const float* x, const Piece& piece,
              std::byte* message) const override {
    if (is_whole(piece)) {
      encode_whole(x, piece, message);
      return;
    }
    if (piece.elements > std::numeric_limits<std::uint32_t>::max()) {
      throw InvalidArgument(absl::StrCat(
          "top_k: a gradient of ", piece.elements,
          " elements; places are 32-bit numbers, so leave it uncompressed"));
    }
    const std::int64_t count = kept(piece);
    std::byte* values = message + count * std::int64_t{sizeof(std::uint32_t)};
    for (const std::uint32_t place :
         largest({x, static_cast<std::size_t>(piece.elements)},
                 static_cast<std::size_t>(count))) {
      write(place, message);
      write(x[place], values);
      message += sizeof place;
      values += sizeof(float);
    }
  }
  void decode_add(const std::byte* message, const Piece& piece,
                  float* sum) const override {
    if (is_whole(piece)) {
      decode_add_whole(message, piece, sum);
      return;
    }
    const std::int64_t count = kept(piece);
    const std::byte* values =
        message + count * std::int64_t{sizeof(std::uint32_t)};
    for (std::int64_t i = 0; i < count; ++i) {
      const auto place = read<std::uint32_t>(
          message + i * std::int64_t{sizeof(std::uint32_t)});
      if (std::int64_t{place} >= piece.elements) continue;
      sum[place] += read<float>(values + i * std::int64_t{sizeof(float)});
    }
  }
  void take_out(const std::byte* message, const Piece& piece, float* x,
                float* velocity) const override {
    if (is_whole(piece)) {
      Codec::take_out(message, piece, x, velocity);
      return;
    }
    const std::int64_t count = kept(piece);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto place = read<std::uint32_t>(
          message + i * std::int64_t{sizeof(std::uint32_t)});
      if (velocity != nullptr && x[place] != 0.0f) velocity[place] = 0.0f;
      x[place] = 0.0f;
    }
  }

 private:
  static void check_share(const char* what, double share) {
    if (share > 0 && share <= 1) return;
    throw InvalidArgument(absl::StrCat("top_k: the ", what, " is ", share,
                                       "; it must be above 0, and at most 1"));
  }
  bool is_whole(const Piece& piece) const {
    return piece.elements < options_.whole_below;
  }
  double share_at(std::int64_t step) const {
    if (step >= options_.warmup_steps) return options_.share;
    const double way =
        static_cast<double>(step) / static_cast<double>(options_.warmup_steps);
    return options_.warmup_share *
           std::pow(options_.share / options_.warmup_share, way);
  }
  std::int64_t kept(const Piece& piece) const {
    const auto share = static_cast<std::int64_t>(
        std::ceil(share_at(piece.step) * static_cast<double>(piece.elements)));
    return std::min(piece.elements, std::max<std::int64_t>(share, 1));
  }

  const TopKOptions options_;
};

// During warm-up, a message has the numbers themselves; later the mean size,
// and a sign bit for each element.
class Signs : public Codec {
 public:
  explicit Signs(const SignsOptions& options) : options_(options) {
    check_not_negative("signs", "warmup_steps", options.warmup_steps);
    check_momentum("signs", options.momentum);
  }
  std::string name() const override { return "signs"; }
  std::size_t bytes(const Piece& piece) const override {
    const auto count = static_cast<std::size_t>(piece.elements);
    if (warms_up(piece)) return whole_bytes(piece);
    return count == 0 ? 0 : sizeof(float) + (count + 7) / 8;
  }
  double bytes_per_byte() const override { return 1.0 / 32; }
  void encode(const float* x, const Piece& piece,
              std::byte* message) const override {
    const std::int64_t elements = piece.elements;
    if (elements == 0) return;
    if (warms_up(piece)) {
      encode_whole(x, piece, message);
      return;
    }
    double sum = 0.0;
    for (std::int64_t i = 0; i < elements; ++i) {
      sum += std::abs(static_cast<double>(x[i]));
    }
    write(static_cast<float>(sum / static_cast<double>(elements)), message);
    message += sizeof(float);
    for (std::int64_t i = 0; i < elements; i += 8) {
      unsigned bits = 0;
      for (std::int64_t k = 0; k < std::min<std::int64_t>(8, elements - i);
           ++k) {
        if (x[i + k] < 0) bits |= 1U << k;
      }
      *message++ = static_cast<std::byte>(bits);
    }
  }
  void decode_add(const std::byte* message, const Piece& piece,
                  float* sum) const override {
    const std::int64_t elements = piece.elements;
    if (elements == 0) return;
    if (warms_up(piece)) {
      decode_add_whole(message, piece, sum);
      return;
    }
    const auto size = read<float>(message);
    message += sizeof size;
    for (std::int64_t i = 0; i < elements; ++i) {
      const auto bits = static_cast<unsigned>(message[i / 8]);
      sum[i] += (bits >> (i % 8) & 1U) != 0 ? -size : size;
    }
  }

 private:
  bool warms_up(const Piece& piece) const {
    return piece.step < options_.warmup_steps;
  }

  const SignsOptions options_;
};

}  // namespace

std::unique_ptr<Compressor> int8_blocks() {
  return gathered(std::make_unique<Int8Blocks>());
}
std::unique_ptr<Compressor> top_k(const TopKOptions& options) {
  return gathered(std::make_unique<TopK>(options),
                  {.momentum = options.momentum,
                   .masks = options.mask_velocity,
                   .max_norm = options.max_norm});
}
std::unique_ptr<Compressor> top_k(double share) {
  return top_k(TopKOptions{.share = share});
}
std::unique_ptr<Compressor> signs(const SignsOptions& options) {
  return gathered(std::make_unique<Signs>(options),
                  {.momentum = options.momentum});
}

}  // namespace hvd::compression
