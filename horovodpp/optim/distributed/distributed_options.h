// SPDX-License-Identifier: Apache-2.0
// Options of a DistributedOptimizer and of one step, and the result of a step.
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
  // Whether the sum over the passes is divided by their number.
  bool average_passes = false;
  // Whether each backward pass counts for all parameters, also for those that
  // it does not reach. If so, gradients that are not reached are complete when
  // the last backward of a step begins, and are reduced while it runs. They are
  // zeros if no pass has reached them. Otherwise step() reduces them, since
  // another backward may reach them: for example, if each loss has its own
  // backward.
  bool every_backward_counts = false;
  // Gradients that are sent together, when the last of a group is complete.
  // Single gradients arrive sooner; a group saves messages if many gradients
  // are small. Equal on all ranks, which list parameters in the same order.
  GradientGroups groups = 0;
  // Complete gradients outside groups are held back until they have so many
  // bytes, or until the step, and then sent together. 0: never held back. The
  // default is 16 MiB if all ranks are on one node and compute on all its
  // cores. The reduction then has no core of its own. Otherwise the default is
  // 0. Not with compression or sharded updates.
  std::optional<std::size_t> bucket_bytes = std::nullopt;
  // Sparse gradients (autograd/graph/sparse_gradient.h) are sent as rows, and stay
  // rows. Ranks may have different rows, or none. With this option sparse
  // gradients are sent dense, like other gradients, and come back as the rows
  // that are not 0. Use it for tables of which the ranks together reach most
  // rows.
  bool sparse_as_dense = false;
  // Whether a parameter for which no rank has a gradient keeps none, so that
  // the step skips it, as in one process. Otherwise its gradient is zeros, and
  // momentum and weight decay move it. Costs an allreduce of a number for each
  // parameter. Equal on all ranks; not with every_backward_counts.
  bool find_unused_parameters = false;
  // Compresses gradients; null: sent uncompressed. Each optimizer needs its
  // own. Its state is part of the state_dict(), and differs between ranks.
  std::shared_ptr<compression::Compressor> compression = nullptr;
  // Whether each rank updates a part of every parameter, keeps the state of
  // that part alone, and gets the other parts from the other ranks. Parameters
  // get the same bits (if one plane reduces all), in a fraction of the
  // optimizer's time and memory. Conditions:
  // - An optimizer that moves each element by itself (SGD, Adam, AdamW,
  //   RMSprop, …), with op average or sum, without groups and compression.
  // - Parameters are moved into memory of the job. Earlier views of a parameter
  //   do not follow.
  // - Between backward and step() only this rank's part of a gradient is
  //   reduced, unless synchronize() completes it.
  // - state_dict() is collective: every rank calls it and gets the whole state.
  //   Every rank loads the whole state.
  bool shard_updates = false;
  // Every so many steps, a checksum compares the parameters of all ranks; if
  // they differ, step() throws on all ranks. 0: never. Also not after a step
  // along gradients that were not reduced.
  int check_parameters_every = 100;
  std::shared_ptr<replica::GradientObserver> observer = nullptr;  // Or null.
  // Prefix of the names of gradients: "<name>.<parameter>". Optimizers whose
  // gradients are in flight at the same time need different names.
  std::string name = "gradient";
  // The ranks that step together; the other ranks have no such optimizer.
  ProcessSet process_set = ProcessSet::global();
  // The job; by default the current one (see runtime/global.h).
  Runtime* runtime = nullptr;
};

// Options of one call of step(). All but the value of the weight is equal on
// all ranks; so is whether a weight is set.
struct DistributedStepOptions {
  // Called first: clears the gradients, runs forward and backward, and returns
  // the loss.
  std::function<Tensor()> closure = {};
  // Gradients are scaled down so that the 2-norm of all of them is at most
  // this. Infinity: no clipping.
  double max_norm = std::numeric_limits<double>::infinity();
  // The scaler whose factor the loss was multiplied by. Gradients are divided
  // by the factor. If they have overflowed, the step is skipped. The scaler is
  // then updated for the next step.
  GradScaler* grad_scaler = nullptr;
  // Whether this step updates the scaler. If false, the caller calls update(),
  // after the steps of several optimizers.
  bool update_scaler = true;
  // The number of samples or tokens over which the loss on this rank is a sum.
  // The step then goes along the mean of all samples of all ranks. (Multiply a
  // mean loss by that number.) May be 0. Only with op average.
  std::optional<double> weight = std::nullopt;
};

struct StepResult {
  bool stepped = true;  // False: gradients had overflowed.
  // Norm of the gradients before clipping; set if they were to be clipped or
  // scaled.
  std::optional<double> norm = std::nullopt;
  Tensor loss = {};  // The closure's.
};

}  // namespace optim
}  // namespace hvd
