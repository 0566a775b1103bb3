// SPDX-License-Identifier: Apache-2.0
// The checked sequences of a CTC loss, and the recursion over their alignments
// in differentiable operations.
//
// The states of a sequence are its labels with blanks around each: state 2 i is
// a blank, state 2 i + 1 is label i. An alignment begins in state 0 or 1, ends
// in one of the last two, and at each time stays, goes to the next state, or
// skips a blank between two different labels.
#pragma once

#include <cstdint>
#include <vector>

#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

struct CtcSequence {
  std::int64_t steps = 0;            // Its time steps.
  std::vector<std::int64_t> states;  // The class of each state.

  std::int64_t labels() const {
    return static_cast<std::int64_t>(states.size()) / 2;
  }
  // Whether `state` may follow state - 2.
  bool may_skip_to(std::size_t state) const {
    return state >= 2 && state % 2 == 1 && states[state] != states[state - 2];
  }
};

using CtcSequences = std::vector<CtcSequence>;

// Reads targets for log-probabilities [time, n, classes].
//   InvalidArgument  a length or label does not fit
CtcSequences read_sequences(const Tensor& log_probabilities,
                            const Tensor& targets,
                            const std::vector<std::int64_t>& input_lengths,
                            const std::vector<std::int64_t>& target_lengths,
                            std::int64_t blank);

// The losses [n], recorded as simple operations.
Tensor composed_ctc(const Tensor& log_probabilities,
                    const CtcSequences& sequences);

}  // namespace hvd::autograd
