// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/submission/submissions.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"
#include "horovodpp/runtime/execution/plane_calls.h"
#include "horovodpp/runtime/execution/reductions.h"
#include "horovodpp/runtime/submission/argument_checks.h"

namespace hvd::runtime {

using coordinator::Request;
using coordinator::RequestKind;

namespace {

// The common part of all operations on tensors; checks follow when the
// submission is complete.
template <typename Options>
SubmissionPtr begin(RequestKind kind, Inputs inputs, Options& options) {
  auto submission = std::make_shared<coordinator::Submission>();
  Request& request = submission->request;
  request.kind = kind;
  request.key = {.process_set = options.process_set.id(),
                 .name = std::move(options.name)};
  for (const ConstTensorView& tensor : inputs) {
    request.tensors.push_back(
        {.dtype = tensor.dtype(), .shape = tensor.shape()});
  }
  if (!inputs.empty()) request.device = inputs.front().device();
  submission->inputs = std::move(inputs);
  submission->keep_alive = std::move(options.keep_alive);
  submission->stream = options.stream;
  return submission;
}

template <typename Options>
absl::StatusOr<SubmissionPtr> reduction(SetTable& sets, RequestKind kind,
                                        Inputs inputs, Options& options) {
  const SubmissionPtr submission = begin(kind, std::move(inputs), options);
  Request& request = submission->request;
  request.op = options.op;
  request.prescale = options.prescale_factor;
  request.postscale = options.postscale_factor;
  request.average_of_participants = options.average_of_participants;
  HVD_RETURN_IF_ERROR(check_tensors(*submission));
  HVD_RETURN_IF_ERROR(sets.admit(options.process_set, request));
  return submission;
}

// Equal splits, for a caller that gave none.
absl::StatusOr<std::vector<std::int64_t>> equal_splits(const Request& request,
                                                       std::size_t ranks) {
  const std::int64_t rows = request.tensors.front().shape[0];
  const auto n = static_cast<std::int64_t>(ranks);
  if (rows % n == 0) return std::vector<std::int64_t>(ranks, rows / n);
  return refuse(request,
                absl::StrCat("no splits are given, and the first dimension ",
                             rows, " cannot be shared equally by ", ranks,
                             " ranks; give splits"));
}

}  // namespace

absl::StatusOr<SubmissionPtr> allreduce_submission(SetTable& sets,
                                                   Inputs inputs,
                                                   AllreduceOptions options) {
  return reduction(sets, RequestKind::kAllreduce, std::move(inputs), options);
}

absl::StatusOr<SubmissionPtr> reducescatter_submission(
    SetTable& sets, Inputs inputs, ReducescatterOptions options) {
  return reduction(sets, RequestKind::kReducescatter, std::move(inputs),
                   options);
}

absl::StatusOr<SubmissionPtr> allgather_submission(SetTable& sets,
                                                   Inputs inputs,
                                                   AllgatherOptions options) {
  const SubmissionPtr submission =
      begin(RequestKind::kAllgather, std::move(inputs), options);
  HVD_RETURN_IF_ERROR(check_tensors(*submission));
  // One call per tensor, and one that exchanges the numbers of rows.
  const std::size_t count = submission->inputs.size();
  if (count >= kMaxCalls) {
    return refuse(
        submission->request,
        absl::StrCat("a group of ", count, " tensors; at most ", kMaxCalls - 1,
                     " can be gathered at once, so split it"));
  }
  HVD_RETURN_IF_ERROR(sets.admit(options.process_set, submission->request));
  return submission;
}

absl::StatusOr<SubmissionPtr> broadcast_submission(SetTable& sets,
                                                   const ConstTensorView& input,
                                                   int root,
                                                   BroadcastOptions options) {
  const SubmissionPtr submission =
      begin(RequestKind::kBroadcast, {input}, options);
  submission->request.root = root;
  HVD_ASSIGN_OR_RETURN(const SetPlace place,
                       sets.place_in(options.process_set));
  HVD_RETURN_IF_ERROR(check_tensors(*submission));
  const std::vector<int>& ranks = place.set.ranks();
  if (!std::binary_search(ranks.begin(), ranks.end(), root)) {
    return refuse(
        submission->request,
        place.set.is_global()
            ? absl::StrCat("there is no rank ", root, " in a job of ",
                           place.size())
            : absl::StrCat("the root, rank ", root, ", is not a member of ",
                           place.set.to_string()));
  }
  HVD_RETURN_IF_ERROR(sets.admit(options.process_set, submission->request));
  return submission;
}

absl::StatusOr<SubmissionPtr> alltoall_submission(SetTable& sets,
                                                  const ConstTensorView& input,
                                                  AlltoallOptions options) {
  const SubmissionPtr submission =
      begin(RequestKind::kAlltoall, {input}, options);
  HVD_ASSIGN_OR_RETURN(const SetPlace place,
                       sets.place_in(options.process_set));
  HVD_RETURN_IF_ERROR(check_tensors(*submission));
  const std::size_t ranks = place.set.ranks().size();
  if (options.splits.empty()) {
    HVD_ASSIGN_OR_RETURN(submission->splits,
                         equal_splits(submission->request, ranks));
  } else {
    HVD_RETURN_IF_ERROR(
        check_splits(submission->request, options.splits, ranks));
    submission->splits = options.splits;
  }
  HVD_RETURN_IF_ERROR(sets.admit(options.process_set, submission->request));
  return submission;
}

absl::StatusOr<SubmissionPtr> into(const TensorView& result,
                                   absl::StatusOr<SubmissionPtr> built,
                                   const std::optional<Shape>& shape) {
  if (!built.ok()) return built;
  HVD_RETURN_IF_ERROR(check_result(**built, result, shape));
  return built;
}

absl::StatusOr<SubmissionPtr> reducescatter_into(SetTable& sets,
                                                 const ConstTensorView& input,
                                                 const TensorView& result,
                                                 ReducescatterOptions options) {
  HVD_ASSIGN_OR_RETURN(const SetPlace place,
                       sets.place_in(options.process_set));
  auto built = reducescatter_submission(sets, {input}, std::move(options));
  if (!built.ok()) return built;
  std::vector<std::int64_t> dims(input.shape().dims().begin(),
                                 input.shape().dims().end());
  dims[0] = scattered_rows(dims[0], place.set.ranks().size(),
                           static_cast<std::size_t>(place.position));
  return into(result, std::move(built), Shape(dims));
}

absl::StatusOr<SubmissionPtr> bare_submission(SetTable& sets, RequestKind kind,
                                              const ProcessSet& set,
                                              std::string name) {
  auto submission = std::make_shared<coordinator::Submission>();
  submission->request.kind = kind;
  submission->request.key.name = std::move(name);
  submission->request.key.process_set = set.id();
  HVD_RETURN_IF_ERROR(sets.admit(set, submission->request));
  return submission;
}

absl::StatusOr<SubmissionPtr> add_set_submission(SetTable& sets,
                                                 std::vector<int> ranks) {
  HVD_ASSIGN_OR_RETURN(
      const SubmissionPtr submission,
      bare_submission(sets, RequestKind::kAddProcessSet, ProcessSet::global()));
  std::sort(ranks.begin(), ranks.end());
  submission->request.ranks = std::move(ranks);
  return submission;
}

absl::StatusOr<SubmissionPtr> remove_set_submission(SetTable& sets,
                                                    const ProcessSet& set) {
  if (set.is_global()) {
    return absl::InvalidArgumentError(
        "the global process set cannot be removed; it ends with the job");
  }
  HVD_RETURN_IF_ERROR(sets.find(set).status());
  HVD_ASSIGN_OR_RETURN(const SubmissionPtr submission,
                       bare_submission(sets, RequestKind::kRemoveProcessSet,
                                       ProcessSet::global()));
  submission->request.subject = set.id();
  return submission;
}

}  // namespace hvd::runtime
