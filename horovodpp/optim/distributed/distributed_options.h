// SPDX-License-Identifier: Apache-2.0
// What a DistributedOptimizer is told, for good and for one step, and what a step
// tells.
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "horovodpp/compression/compressors.h"  // IWYU pragma: export
#include "horovodpp/core/export.h"
#include "horovodpp/core/reduce_op.h"
#include "horovodpp/optim/distributed/gradient_groups.h"  // IWYU pragma: export
#include "horovodpp/optim/grad_scaler.h"
#include "horovodpp/replica/reducer_options.h"
#include "horovodpp/runtime/settings/process_set.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {
class Runtime;
}

namespace HVD_EXPORT hvd {
namespace optim {

struct DistributedOptions {
  ReduceOp op = ReduceOp::kAverage;
  // See replica::ReducerOptions.
  double gradient_predivide_factor = 1.0;
  // Gradients of so many backward passes are added up before they are reduced.
  int backward_passes_per_step = 1;
  // Whether the sum over them is divided by their number.
  bool average_passes = false;
  // Whether each of them counts for all parameters, also for those that it does
  // not reach. These are then known to be complete when the last backward of a
  // step begins, and are reduced while it runs; as zeros, where none has reached
  // them. Otherwise that is left to step(), since another backward may reach
  // them, as where each loss has one of its own.
  bool every_backward_counts = false;
  // Gradients that are sent together: when the last of a group is complete. They
  // arrive sooner one by one; a group saves messages where many are small. Equal
  // on all ranks, where parameters are listed in the same order.
  GradientGroups groups = 0;
  // Gradients that are complete, and in no group, are held back until they have so
  // many bytes, or for the step, and then sent together. 0: none is. By default that
  // is up to the machine: where the ranks are on one node and compute on all of its
  // cores, so that reducing does not get a core of its own, 16 MiB; elsewhere 0. Not
  // with compression, or where updates are sharded.
  std::optional<std::size_t> bucket_bytes = std::nullopt;
  // Sparse gradients (autograd/sparse_gradient.h) are sent as rows, which each rank
  // may have others of, and none; and are rows afterwards. With this they are sent
  // whole, as one of the other gradients, and come back as the rows that are not 0:
  // for tables of which the ranks together reach most rows.
  bool sparse_as_dense = false;
  // Whether a parameter of which no rank has a gradient keeps none, so that the step
  // passes over it, as in one process. Otherwise its gradient is zeros, by which
  // momentum and weight decay move it. Costs an allreduce of a number for each
  // parameter. Equal on all ranks; not with every_backward_counts.
  bool find_unused_parameters = false;
  // How gradients are sent; null: as they are. Of no other optimizer. What it
  // remembers is part of the state_dict(), and another one on each rank.
  std::shared_ptr<compression::Compressor> compression = nullptr;
  // Whether each rank moves a part of every parameter, remembers state of that part
  // alone, and gets from the others what they have moved: the same bits (where one
  // plane reduces all), in a fraction of the time and the memory of the optimizer's.
  // For SGD, Adam and AdamW, with op average or sum, without groups and compression.
  // The parameters are moved into memory of the job's; what is a view of one before
  // does not follow. Between backward and step() only this rank's part of a gradient
  // is the reduced one, unless synchronize() completes them. state_dict() is
  // collective: every rank calls it, and gets all; every rank loads all.
  bool shard_updates = false;
  // After every so many steps the parameters of all ranks are compared, by a
  // checksum; where they differ step() throws on all ranks. 0: never. Nor after a
  // step along gradients that were not reduced.
  int check_parameters_every = 100;
  std::shared_ptr<replica::GradientObserver> observer = nullptr;  // Or null.
  // Of the gradients, as peers see them: "<name>.<parameter>". Optimizers whose
  // gradients are under way at the same time have different ones.
  std::string name = "gradient";
  // The ranks that step together; the others have no such optimizer.
  ProcessSet process_set = ProcessSet::global();
  // The job; by default the current one (see runtime/global.h).
  Runtime* runtime = nullptr;
};

// What one call of step() is to do besides. All but the weight is equal on all
// ranks; so is whether there is a weight.
struct DistributedStepOptions {
  // Called first: clears the gradients, runs forward and backward, and returns the
  // loss.
  std::function<Tensor()> closure = {};
  // Gradients are scaled down so that the 2-norm of all of them is at most this.
  // Infinity: not at all.
  double max_norm = std::numeric_limits<double>::infinity();
  // Whose factor the loss was multiplied by. Gradients are divided by it, the step
  // is left out if they have overflowed, and the factor becomes that of the next
  // step.
  GradScaler* grad_scaler = nullptr;
  // Whether that is so: otherwise it is for the caller to update() it, after the
  // steps of several optimizers.
  bool update_scaler = true;
  // How many samples, tokens, … the loss on this rank is a sum over: then the step
  // goes along the mean of all samples of all ranks. (Of a loss that is a mean,
  // multiply it by their number.) May be 0. Only with op average.
  std::optional<double> weight = std::nullopt;
};

struct StepResult {
  bool stepped = true;  // False: gradients had overflowed.
  // Of the gradients, before they were clipped; if they were to be, or scaled.
  std::optional<double> norm = std::nullopt;
  Tensor loss = {};  // The closure's.
};

}  // namespace optim
}  // namespace hvd
