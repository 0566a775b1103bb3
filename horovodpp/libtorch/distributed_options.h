// SPDX-License-Identifier: Apache-2.0
// The options of distributed optimizers and of their steps.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "horovodpp/c/horovodpp.h"
#include "horovodpp/core/export.h"
#include "horovodpp/libtorch/async_collectives.h"
#include "horovodpp/libtorch/error.h"
#include "horovodpp/libtorch/job.h"

namespace HVD_EXPORT hvd {
namespace libtorch {

// The compression of float32 gradients: see
// horovodpp/compression/compressors.h.
enum class Compression : std::int32_t {
  kNone = HVD_COMPRESSION_NONE,
  kFloat16 = HVD_COMPRESSION_FLOAT16,
  kBFloat16 = HVD_COMPRESSION_BFLOAT16,
  kInt8 = HVD_COMPRESSION_INT8,
  kTopK = HVD_COMPRESSION_TOP_K,
  kSigns = HVD_COMPRESSION_SIGNS,
  kPowerSgd = HVD_COMPRESSION_POWER_SGD
};

// Options of every distributed optimizer.
struct OptimizerOptions {
  ReduceOp op = ReduceOp::kAverage;
  // The gradients of this number of backward passes are summed for a step.
  int backward_passes_per_step = 1;
  // Prefix of the parameters' names, as peers see them. Optimizers that work at
  // the same time need different names.
  std::string name = "gradient";
  // The ranks that step together; on other ranks the optimizer is unchanged.
  ProcessSet process_set = {};
};

// The op is an average, a sum, or Adasum of gradients.
struct DistributedOptions : OptimizerOptions {
  // With an average, gradients are divided by this before the sum, and
  // multiplied by it after.
  double gradient_predivide_factor = 1.0;
  Compression compression = Compression::kNone;
  double top_k_share = 0.01;
  int power_sgd_rank = 4;
  // As in TopKOptions there; the first two also apply to kSigns.
  double compression_momentum = 0.0;
  std::int64_t compression_warmup_steps = 0;
  double top_k_warmup_share = 0.25;
  std::int64_t top_k_whole_below = 0;
  double top_k_max_norm = 0.0;
  bool top_k_mask_velocity = false;
  // Gradients that are sent together: this number of groups of parameters in
  // their order, or these groups; others are sent by themselves.
  int num_groups = 0;
  std::vector<std::vector<torch::Tensor>> groups = {};
  // Reduces sparse gradients as dense ones. Otherwise their rows are gathered.
  bool sparse_as_dense = false;
  // A parameter of which no rank has a gradient keeps none, so that the step
  // skips it, as in one process. Otherwise its gradient is zeros, and momentum
  // and weight decay move it. Costs an allreduce of a number for each
  // parameter. Equal on all ranks.
  bool find_unused_parameters = false;
  // Moves gradients to memory that the ranks of a node share, where they are
  // reduced without a copy.
  bool gradients_in_arena = true;
  // Sends gradients as soon as they are final, while backward continues.
  // Otherwise at step(). Set it to false if one backward pass gives a parameter
  // its gradient in several parts, as custom functions that run backward do.
  bool during_backward = true;
  // The number of threads with which each rank computes. If all ranks are on
  // one node and their threads leave no core for the reduction, complete
  // gradients are held back until they have 16 MiB, or until the step, and are
  // sent together. 0: each gradient is sent as soon as it is complete.
  int compute_threads = torch::get_num_threads();
};

struct StepOptions {
  // Scales reduced gradients down so that their total norm is at most this.
  // Infinity: no limit.
  double max_norm = std::numeric_limits<double>::infinity();
  // Called first: clears the gradients, runs forward and backward, returns the
  // loss.
  std::function<torch::Tensor()> closure = {};
  // The number of samples, tokens, … that this rank's loss sums over: the step
  // then follows the mean of all samples of all ranks. May be 0. Set on all
  // ranks or none, with an average.
  std::optional<double> weight = std::nullopt;
};

struct StepResult {
  // Of all gradients, before they were scaled down; set if there is a max_norm.
  std::optional<double> norm = std::nullopt;
  torch::Tensor loss = {};  // The closure's, on this rank.
};

namespace internal {

// All check() functions refuse invalid options: Error (HVD_INVALID_ARGUMENT).
inline void check(const OptimizerOptions& options) {
  if (options.backward_passes_per_step < 1) {
    refuse("backward_passes_per_step must be > 0");
  }
}

inline void check(const DistributedOptions& options) {
  check(static_cast<const OptimizerOptions&>(options));
  if (options.op != ReduceOp::kAverage && options.op != ReduceOp::kSum &&
      options.op != ReduceOp::kAdasum) {
    refuse("gradients are reduced by an average, a sum or Adasum");
  }
  if (options.op != ReduceOp::kAverage &&
      options.gradient_predivide_factor != 1.0) {
    refuse("a gradient_predivide_factor goes with an average only");
  }
  if (options.num_groups < 0) {
    refuse("num_groups is a number of groups, or 0");
  }
  if (options.num_groups > 0 && !options.groups.empty()) {
    refuse("there is a num_groups, and there are groups: give one");
  }
}

inline void check(const StepOptions& step, const DistributedOptions& options) {
  if (!step.weight.has_value()) return;
  if (options.op != ReduceOp::kAverage) {
    refuse("a weight goes with an average only");
  }
  if (!std::isfinite(*step.weight) || *step.weight < 0) {
    refuse("the weight is " + std::to_string(*step.weight) +
           ": it is the number of samples on this rank");
  }
}

}  // namespace internal

}  // namespace libtorch
}  // namespace hvd
