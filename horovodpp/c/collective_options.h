// SPDX-License-Identifier: Apache-2.0
// Converts the C interface's options of collectives.
#pragma once

#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodpp/c/arguments.h"
#include "horovodpp/c/horovodpp.h"
#include "horovodpp/c/process_sets.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/tensor_view.h"
#include "horovodpp/runtime/settings/options.h"

namespace hvd::c {

// For AllreduceOptions and ReducescatterOptions, which have the same members.
template <typename Options>
absl::StatusOr<Options> reduction_options(const hvd_allreduce_options* given) {
  HVD_ASSIGN_OR_RETURN(const hvd_allreduce_options read,
                       read_options(given, HVD_ALLREDUCE_OPTIONS));
  HVD_ASSIGN_OR_RETURN(const ReduceOp op, op_of(read.op));
  HVD_ASSIGN_OR_RETURN(ProcessSet set, set_of(read.process_set));
  return Options{.name = text_of(read.name),
                 .op = op,
                 .prescale_factor = read.prescale_factor,
                 .postscale_factor = read.postscale_factor,
                 .average_of_participants = read.average_of_participants != 0,
                 .process_set = std::move(set),
                 .stream = read.stream};
}

// For AllgatherOptions and BroadcastOptions, which have the same members.
template <typename Options>
absl::StatusOr<Options> moving_options(const hvd_collective_options* given) {
  HVD_ASSIGN_OR_RETURN(const hvd_collective_options read,
                       read_options(given, HVD_COLLECTIVE_OPTIONS));
  HVD_ASSIGN_OR_RETURN(ProcessSet set, set_of(read.process_set));
  return Options{.name = text_of(read.name),
                 .process_set = std::move(set),
                 .stream = read.stream};
}

inline absl::StatusOr<MessageOptions> message_options(
    int tag, const hvd_collective_options* given) {
  HVD_ASSIGN_OR_RETURN(BroadcastOptions read,
                       moving_options<BroadcastOptions>(given));
  return MessageOptions{.tag = tag,
                        .process_set = std::move(read.process_set),
                        .stream = read.stream};
}

absl::StatusOr<AlltoallOptions> alltoall_options(
    const hvd_alltoall_options* given);

std::vector<ConstTensorView> as_const(const std::vector<TensorView>& views);

// The input of a collective, and the destination of its result.
struct Transfer {
  TensorView tensor;
  TensorView result;
};

//   InvalidArgument  one of them is NULL, or not a tensor
absl::StatusOr<Transfer> transfer_of(const hvd_tensor* tensor,
                                     const hvd_tensor* result);

}  // namespace hvd::c
