// SPDX-License-Identifier: Apache-2.0
// The compressors there are:
//
//   hvd::DistributedOptimizer optimizer(
//       std::move(sgd), {.compression = hvd::compression::int8_blocks()});
//
// docs/compression.md says what each costs, and when it pays. Gradients of other
// types than float32 are sent as they are.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <cstdint>
#include <memory>

#include "horovodpp/compression/compressor.h"
#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {
namespace compression {

// Rounded to 16 bits and reduced in these, with sums in float32. Half the bytes.
std::unique_ptr<Compressor> fp16();
std::unique_ptr<Compressor> bf16();

// Those below gather every rank's message on every rank, which adds them up; the
// error that each makes in its own is added to its next gradient (Karimireddy et
// al., "Error feedback fixes SignSGD", 2019).

// Numbers from -127 to 127, times a factor for every 256 of them. A quarter.
std::unique_ptr<Compressor> int8_blocks();

struct TopKOptions {
  double share =
      0.01;  // Of the elements of each gradient; at least one is sent.
  // For so many steps the share falls from `warmup_share` to `share`, by the same
  // factor in each. Early gradients change fast, and old parts of them mislead.
  std::int64_t warmup_steps = 0;
  double warmup_share = 0.25;
  // Of the velocity that each rank sends instead of its gradients; the optimizer
  // then has no momentum of its own. Momentum that is applied after top-k counts
  // what was kept back as if it were new.
  double momentum = 0.0;
  // Whether the velocity of an element begins anew once it is sent, as in the paper:
  // for shares so small that old velocities mislead. Elements that are sent in most
  // steps have no momentum then.
  bool mask_velocity = false;
  // Gradients of fewer elements are sent whole, as the paper's authors send biases
  // and what scales a norm: they are few bytes, and late parts of them mislead most.
  std::int64_t whole_below = 0;
  // Each rank scales a gradient whose norm is above max_norm / sqrt(ranks) down to
  // that, before it adds what it kept back: otherwise steps kept back would be
  // clipped as one. Of each gradient by itself. 0: none.
  double max_norm = 0.0;
};

// The largest of them, each with its place: 2 `share` of the bytes (Aji and
// Heafield, "Sparse communication for distributed gradient descent", 2017; with
// warm-up, momentum and clipping: Lin et al., "Deep gradient compression", 2018,
// sections 3.1 to 3.3).
//   InvalidArgument  a share is not above 0 and at most 1, the momentum not in
//                    [0, 1), the norm negative, or there are fewer steps or
//                    elements than none
std::unique_ptr<Compressor> top_k(const TopKOptions& options);
std::unique_ptr<Compressor> top_k(double share = 0.01);

struct SignsOptions {
  // For so many steps gradients are sent whole, and gathered as signs are.
  std::int64_t warmup_steps = 0;
  // As that of top_k.
  double momentum = 0.0;
};

// The sign of each, times the mean of all sizes. A 32nd.
//   InvalidArgument  there are fewer steps than none
std::unique_ptr<Compressor> signs(const SignsOptions& options = {});

// A matrix of m × k as the product of m × rank and rank × k, by one step of power
// iteration from the last result, with error feedback (Vogels, Karimireddy, Jaggi,
// "PowerSGD", 2019). Two allreduces; what has one dimension is sent as it is, and
// so is what would not become smaller.
//   InvalidArgument  the rank is below 1
std::unique_ptr<Compressor> power_sgd(std::int64_t rank = 4);

}  // namespace compression
}  // namespace hvd
