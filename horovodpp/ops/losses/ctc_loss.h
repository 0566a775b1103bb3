// SPDX-License-Identifier: Apache-2.0
// Connectionist temporal classification (Graves et al. 2006): the negative
// log-likelihood of a sequence of labels, summed over all its alignments with
// the time steps. An alignment repeats labels and puts blanks between them.
//
//   Tensor loss = hvd::ctc_loss(log_softmax(model(sound), -1), texts,
//                               {120, 97}, {14, 9});
//
// InvalidArgument if shapes, lengths or labels do not fit.
#pragma once

#include <cstdint>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/ops/functional/loss_options.h"  // IWYU pragma: export
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

struct CtcOptions {
  std::int64_t blank = 0;      // The class that stands between labels.
  bool zero_infinity = false;  // Whether an impossible sequence has loss 0.
  // A mean divides each loss by the number of labels (at least 1) first.
  Reduction reduction = Reduction::kMean;
};

// Log-probabilities [time, n, classes], or [time, classes] of one sequence.
// int64 targets [n, labels], or all labels one after the other, [sum of
// lengths]. A sequence without an alignment has an infinite loss. Differentiable
// to any order; derivatives above the first take memory for time * n * labels
// numbers.
Tensor ctc_loss(const Tensor& log_probabilities, const Tensor& targets,
                const std::vector<std::int64_t>& input_lengths,
                const std::vector<std::int64_t>& target_lengths,
                const CtcOptions& options = {});

}  // namespace hvd
