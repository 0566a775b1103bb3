// SPDX-License-Identifier: Apache-2.0
// Makes Submissions from callers' requests. Invalid requests are refused before
// anything is queued: a group with one bad tensor is refused as a whole.
//
// Errors of all functions: InvalidArgument (an argument is invalid, or this
// rank is not in the process set), Unimplemented (no plane of this build
// reaches the memory). Texts name the operation, the tensor and, in a group,
// its index.
//
// The submissions are admitted to their process set, which numbers those
// without a name. The caller adds their outputs and callbacks.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodpp/coordinator/submission.h"
#include "horovodpp/core/tensor_view.h"
#include "horovodpp/runtime/execution/set_table.h"
#include "horovodpp/runtime/settings/options.h"
#include "horovodpp/runtime/settings/process_set.h"

namespace hvd::runtime {

using coordinator::Inputs;
using coordinator::SubmissionPtr;

// A group if there are several `inputs`.
absl::StatusOr<SubmissionPtr> allreduce_submission(SetTable& sets,
                                                   Inputs inputs,
                                                   AllreduceOptions options);
absl::StatusOr<SubmissionPtr> allgather_submission(SetTable& sets,
                                                   Inputs inputs,
                                                   AllgatherOptions options);
absl::StatusOr<SubmissionPtr> reducescatter_submission(
    SetTable& sets, Inputs inputs, ReducescatterOptions options);

// `root` is a rank of the job.
absl::StatusOr<SubmissionPtr> broadcast_submission(SetTable& sets,
                                                   const ConstTensorView& input,
                                                   int root,
                                                   BroadcastOptions options);

// Fills in the splits if none are given.
absl::StatusOr<SubmissionPtr> alltoall_submission(SetTable& sets,
                                                  const ConstTensorView& input,
                                                  AlltoallOptions options);

// Returns `built` if `result` fits the output, as far as that is known: rows of
// its only tensor, or a tensor of `shape`.
absl::StatusOr<SubmissionPtr> into(const TensorView& result,
                                   absl::StatusOr<SubmissionPtr> built,
                                   const std::optional<Shape>& shape = {});
absl::StatusOr<SubmissionPtr> reducescatter_into(SetTable& sets,
                                                 const ConstTensorView& input,
                                                 const TensorView& result,
                                                 ReducescatterOptions options);

// kJoin or kReplay, which need no tensor. Without a name it is numbered.
absl::StatusOr<SubmissionPtr> bare_submission(SetTable& sets,
                                              coordinator::RequestKind kind,
                                              const ProcessSet& set,
                                              std::string name = {});

// `ranks` may be in any order. An existing set of these ranks is detected
// later, when the set is added.
absl::StatusOr<SubmissionPtr> add_set_submission(SetTable& sets,
                                                 std::vector<int> ranks);
absl::StatusOr<SubmissionPtr> remove_set_submission(SetTable& sets,
                                                    const ProcessSet& set);

}  // namespace hvd::runtime
