// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/losses/ctc_problem.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/indices/index_ops.h"
#include "horovodpp/ops/reduce_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::autograd {
namespace {

// The logarithm of a probability of 0. It is finite, so that differences of two
// are no NaN.
constexpr double kLogOfZero = -1e30;

// The tables of all sequences, for their longest one.
struct CtcTables {
  CtcTables(const CtcSequences& sequences, std::int64_t width)
      : classes(zeros({count(sequences), width}, {.dtype = DType::kI64})),
        starts(zeros(classes.shape(), {.dtype = DType::kBool})),
        skips(zeros(classes.shape(), {.dtype = DType::kBool})),
        ends(zeros(classes.shape(), {.dtype = DType::kBool})),
        steps(zeros({count(sequences), 1}, {.dtype = DType::kI64})) {
    for (std::size_t n = 0; n < sequences.size(); ++n) {
      const CtcSequence& sequence = sequences[n];
      steps.data<std::int64_t>()[n] = sequence.steps;
      const std::size_t size = sequence.states.size();
      for (std::size_t s = 0; s < size; ++s) {
        const std::size_t i = n * static_cast<std::size_t>(width) + s;
        classes.data<std::int64_t>()[i] = sequence.states[s];
        starts.data<bool>()[i] = s < 2;
        skips.data<bool>()[i] = sequence.may_skip_to(s);
        ends.data<bool>()[i] = s + 2 >= size;
      }
    }
  }
  static std::int64_t count(const CtcSequences& sequences) {
    return static_cast<std::int64_t>(sequences.size());
  }

  Tensor classes;
  Tensor starts;
  Tensor skips;
  Tensor ends;
  Tensor steps;  // [n, 1]
};

Tensor log_sum_exp(const Tensor& x, std::int64_t dim) {
  const Tensor largest = max(x.detach(), dim, true).values;
  return log(sum(exp(x - largest), {dim})) + squeeze(largest, dim);
}

void check_lengths(const std::vector<std::int64_t>& lengths, std::int64_t count,
                   std::int64_t longest, const char* what) {
  if (static_cast<std::int64_t>(lengths.size()) != count) {
    throw InvalidArgument(absl::StrCat("ctc_loss: ", lengths.size(),
                                       " lengths of ", what, " for ", count,
                                       " sequences"));
  }
  for (const std::int64_t length : lengths) {
    if (length >= 0 && length <= longest) continue;
    throw InvalidArgument(absl::StrCat("ctc_loss: the length ", length, " of ",
                                       what, " is not in [0, ", longest, "]"));
  }
}

}  // namespace

CtcSequences read_sequences(const Tensor& log_probabilities,
                            const Tensor& targets,
                            const std::vector<std::int64_t>& input_lengths,
                            const std::vector<std::int64_t>& target_lengths,
                            std::int64_t blank) {
  const std::int64_t count = log_probabilities.size(1);
  const std::int64_t classes = log_probabilities.size(2);
  if (blank < 0 || blank >= classes) {
    throw InvalidArgument(absl::StrCat("ctc_loss: the blank ", blank,
                                       " is none of ", classes, " classes"));
  }
  const bool in_rows = targets.dim() == 2;
  if (targets.dtype() != DType::kI64 || targets.dim() == 0 ||
      targets.dim() > 2 || (in_rows && targets.size(0) != count)) {
    throw InvalidArgument(absl::StrCat("ctc_loss: targets ", targets.describe(),
                                       " for ", count,
                                       " sequences; wanted are int64 [n, "
                                       "labels] or [sum of lengths]"));
  }
  check_lengths(input_lengths, count, log_probabilities.size(0), "time steps");
  check_lengths(target_lengths, count, targets.size(-1), "targets");
  report_reads(targets);
  const std::vector<std::int64_t> given = targets.to_vector<std::int64_t>();
  CtcSequences result;
  std::size_t next = 0;
  for (std::size_t n = 0; n < input_lengths.size(); ++n) {
    if (in_rows) next = n * static_cast<std::size_t>(targets.size(1));
    const auto length = static_cast<std::size_t>(target_lengths[n]);
    if (next + length > given.size()) {
      throw InvalidArgument(
          absl::StrCat("ctc_loss: ", given.size(),
                       " targets are fewer than the sum of their lengths"));
    }
    CtcSequence& sequence = result.emplace_back();
    sequence.steps = input_lengths[n];
    sequence.states.assign(2 * length + 1, blank);
    for (std::size_t i = 0; i < length; ++i) {
      const std::int64_t label = given[next + i];
      if (label < 0 || label >= classes || label == blank) {
        throw InvalidArgument(absl::StrCat("ctc_loss: target ", label,
                                           " is the blank, or none of ",
                                           classes, " classes"));
      }
      sequence.states[2 * i + 1] = label;
    }
    next += length;
  }
  return result;
}

Tensor composed_ctc(const Tensor& log_probabilities,
                    const CtcSequences& sequences) {
  std::size_t width = 3;  // Room for a skip.
  for (const CtcSequence& sequence : sequences) {
    width = std::max(width, sequence.states.size());
  }
  const CtcTables tables(sequences, static_cast<std::int64_t>(width));
  const std::int64_t steps = log_probabilities.size(0);
  const Tensor zero = zeros({}, {.dtype = log_probabilities.dtype()});
  // The logarithm of the probability to be in a state; at first, to begin there.
  Tensor state = where(tables.starts, zero, kLogOfZero);
  for (std::int64_t t = 0; t < steps; ++t) {
    const Tensor emitted =
        gather(select(log_probabilities, 0, t), 1, tables.classes);
    Tensor next = state;
    if (t > 0) {
      const Tensor skipped =
          where(tables.skips, pad(state, {2, -2}, kLogOfZero), kLogOfZero);
      next = log_sum_exp(
          stack({state, pad(state, {1, -1}, kLogOfZero), skipped}), 0);
    }
    const Tensor runs = gt(tables.steps, static_cast<double>(t));
    state = where(runs, next + emitted, state);
  }
  const Tensor ended = where(tables.ends, state, kLogOfZero);
  Tensor losses = -log_sum_exp(ended, 1);
  // Without steps only a sequence without labels is possible.
  const Tensor no_steps = eq(squeeze(tables.steps, 1), 0.0);
  losses = masked_fill(losses, no_steps, 0.0);
  const Tensor impossible =
      where(no_steps, gt(sum(to(tables.ends, DType::kI64), {1}), 1.0),
            gt(losses.detach(), -0.5 * kLogOfZero));
  return masked_fill(losses, impossible,
                     std::numeric_limits<double>::infinity());
}

}  // namespace hvd::autograd
