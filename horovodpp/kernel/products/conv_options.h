// SPDX-License-Identifier: Apache-2.0
// ConvOptions: how a convolution moves its kernel over an image of 1, 2 or 3
// dimensions. Sizes are a number, a Pair or a Triple.
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {

// A height and a width, or one number for both.
struct Pair {
  Pair(std::int64_t both)  // NOLINT(google-explicit-constructor)
      : height(both), width(both) {}
  Pair(std::int64_t of_height, std::int64_t of_width)
      : height(of_height), width(of_width) {}
  friend bool operator==(const Pair&, const Pair&) = default;

  std::int64_t height;
  std::int64_t width;
};

// A depth, a height and a width, or one number for all.
struct Triple {
  Triple(std::int64_t all)  // NOLINT(google-explicit-constructor)
      : depth(all), height(all), width(all) {}
  Triple(std::int64_t of_depth, std::int64_t of_height, std::int64_t of_width)
      : depth(of_depth), height(of_height), width(of_width) {}
  friend bool operator==(const Triple&, const Triple&) = default;

  // Modulo 2^64, as Dims::product().
  std::int64_t product() const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(depth) *
                                     static_cast<std::uint64_t>(height) *
                                     static_cast<std::uint64_t>(width));
  }

  std::int64_t depth;
  std::int64_t height;
  std::int64_t width;
};

template <typename Size>
struct ConvOptions {
  Size stride = 1;
  Size padding = 0;  // Zeros around the image.
  Size dilation = 1;
  std::int64_t groups = 1;
  // Whether zeros keep the image's size, as of PyTorch's padding="same": then
  // padding is 0 and the stride is 1. (No padding is PyTorch's "valid".)
  bool same_padding = false;
};
using Conv1dOptions = ConvOptions<std::int64_t>;
using Conv2dOptions = ConvOptions<Pair>;
using Conv3dOptions = ConvOptions<Triple>;

template <typename Size>
struct ConvTransposeOptions {
  Size stride = 1;
  Size padding = 0;
  Size output_padding = 0;  // Added to one side of the result.
  Size dilation = 1;
  std::int64_t groups = 1;
};
using ConvTranspose1dOptions = ConvTransposeOptions<std::int64_t>;
using ConvTranspose2dOptions = ConvTransposeOptions<Pair>;
using ConvTranspose3dOptions = ConvTransposeOptions<Triple>;

}  // namespace hvd
