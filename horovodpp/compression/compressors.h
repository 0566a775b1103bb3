// SPDX-License-Identifier: Apache-2.0
// The library's compressors:
//
//   hvd::DistributedOptimizer optimizer(
//       std::move(sgd), {.compression = hvd::compression::int8_blocks()});
//
// docs/compression.md explains their cost and benefit. Gradients of types other
// than float32 are sent uncompressed.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <cstdint>
#include <memory>

#include "horovodpp/compression/compressor.h"
#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {
namespace compression {

// Rounded to 16 bits and reduced so, with sums in float32. Half the bytes.
std::unique_ptr<Compressor> fp16();
std::unique_ptr<Compressor> bf16();

// The following compressors gather every rank's message on every rank, which
// adds them up. Each rank adds the error of its own message to its next
// gradient (Karimireddy et al., "Error feedback fixes SignSGD", 2019).

// Numbers from -127 to 127, with a factor for every 256 of them. A quarter of
// the bytes.
std::unique_ptr<Compressor> int8_blocks();

struct TopKOptions {
  double share = 0.01;  // Of each gradient's elements; at least one is sent.
  // Steps during which the share falls from `warmup_share` to `share`, by the
  // same factor in each. Early gradients change fast, and old parts of them
  // mislead.
  std::int64_t warmup_steps = 0;
  double warmup_share = 0.25;
  // The momentum of the velocity that each rank sends instead of its gradients.
  // Give the optimizer none: momentum applied after top-k would treat held-back
  // parts as new.
  double momentum = 0.0;
  // Whether the velocity of an element restarts once it is sent, as in the
  // paper. Use it for shares so small that old velocities mislead. Elements
  // that are sent in most steps then have no momentum.
  bool mask_velocity = false;
  // Gradients of fewer elements are sent whole, as the paper's authors send
  // biases and scales of norms. They have few bytes, and their delayed parts
  // mislead most.
  std::int64_t whole_below = 0;
  // Each rank clips a gradient whose norm is above max_norm / sqrt(ranks) to
  // that, each gradient by itself. Held-back parts are added afterwards:
  // otherwise held-back steps would be clipped as one. 0: no clipping.
  double max_norm = 0.0;
};

// The largest elements, each with its place: 2 `share` of the bytes. (Aji and
// Heafield, "Sparse communication for distributed gradient descent", 2017.
// Warm-up, momentum and clipping: Lin et al., "Deep gradient compression",
// 2018, sections 3.1 to 3.3.)
//   InvalidArgument  a share is not above 0 and at most 1, the momentum not in
//                    [0, 1), the norm negative, or a number of steps or
//                    elements negative
std::unique_ptr<Compressor> top_k(const TopKOptions& options);
std::unique_ptr<Compressor> top_k(double share = 0.01);

struct SignsOptions {
  // Steps during which gradients are sent whole, and gathered as signs are.
  std::int64_t warmup_steps = 0;
  // As the momentum of top_k.
  double momentum = 0.0;
};

// The sign of each element, times the mean of all sizes. A 32nd of the bytes.
//   InvalidArgument  the number of steps is negative
std::unique_ptr<Compressor> signs(const SignsOptions& options = {});

// A matrix of m × k as the product of m × rank and rank × k: one step of power
// iteration from the last result, with error feedback. (Vogels, Karimireddy,
// Jaggi, "PowerSGD", 2019.) Two allreduces. Gradients of one dimension, and
// gradients that would not become smaller, are sent uncompressed.
//   InvalidArgument  the rank is below 1
std::unique_ptr<Compressor> power_sgd(std::int64_t rank = 4);

}  // namespace compression
}  // namespace hvd
