// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/submission/submissions.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "horovodpp/core/job/ranks.h"
#include "horovodpp/core/status.h"
#include "horovodpp/runtime/execution/plane_calls.h"
#include "horovodpp/runtime/execution/reductions.h"
#include "horovodpp/runtime/submission/argument_checks.h"

namespace hvd::runtime {

using coordinator::Request;
using coordinator::RequestKind;
using coordinator::Root;
using coordinator::Rows;
using coordinator::Transfer;

namespace {

// Checks follow when the submission is complete.
SubmissionPtr begin(RequestKind kind, Inputs inputs, Terms& terms) {
  auto submission = std::make_shared<coordinator::Submission>();
  Request& request = submission->request;
  request.kind = kind;
  request.key = {.process_set = terms.process_set.id(),
                 .name = std::move(terms.name)};
  for (const ConstTensorView& tensor : inputs) {
    request.tensors.push_back(
        {.dtype = tensor.dtype(), .shape = tensor.shape()});
  }
  if (!inputs.empty()) request.device = inputs.front().device();
  request.op = terms.op;
  request.prescale = terms.prescale;
  request.postscale = terms.postscale;
  request.average_of_participants = terms.average_of_participants;
  submission->inputs = std::move(inputs);
  submission->keep_alive = std::move(terms.keep_alive);
  submission->stream = terms.stream;
  return submission;
}

absl::Status check_root(const Request& request, const ProcessSet& set) {
  const std::vector<int>& ranks = set.ranks();
  if (std::binary_search(ranks.begin(), ranks.end(), request.root)) {
    return absl::OkStatus();
  }
  return refuse(request,
                set.is_global()
                    ? absl::StrCat("there is no rank ", request.root,
                                   " in a job of ", ranks.size())
                    : absl::StrCat("the root, rank ", request.root,
                                   ", is not a member of ", set.to_string()));
}

// An allgather makes a call for each tensor, and a call that exchanges the
// numbers of rows.
absl::Status check_number(const coordinator::Submission& submission) {
  const std::size_t count = submission.inputs.size();
  if (count < kMaxCalls) return absl::OkStatus();
  return refuse(
      submission.request,
      absl::StrCat("a group of ", count, " tensors; at most ", kMaxCalls - 1,
                   " can be gathered at once, so split it"));
}

// Splits for a caller that gave none: equal ones, or, of a root's rows, shares
// as of a reducescatter.
absl::StatusOr<std::vector<std::int64_t>> default_splits(const Request& request,
                                                         std::size_t ranks) {
  const std::int64_t rows = request.tensors.front().shape[0];
  std::vector<std::int64_t> splits;
  for (std::size_t r = 0; r < ranks; ++r) {
    splits.push_back(scattered_rows(rows, ranks, r));
  }
  if (describe(request.kind).has_root() || splits.front() == splits.back()) {
    return splits;
  }
  return refuse(request,
                absl::StrCat("no splits are given, and the first dimension ",
                             rows, " cannot be shared equally by ", ranks,
                             " ranks; give splits"));
}

// The rows that this rank sends to each rank.
absl::StatusOr<std::vector<std::int64_t>> splits_of(
    const Request& request, std::vector<std::int64_t> given,
    const SetPlace& place) {
  const std::vector<int>& ranks = place.set.ranks();
  const Root root = describe(request.kind).root;
  std::vector<std::int64_t> none(ranks.size());
  if (root == Root::kReceives) {
    const auto found = std::find(ranks.begin(), ranks.end(), request.root);
    none[static_cast<std::size_t>(found - ranks.begin())] =
        request.tensors.front().shape[0];
    return none;
  }
  if (root == Root::kSends &&
      ranks[static_cast<std::size_t>(place.position)] != request.root) {
    return none;
  }
  if (given.empty()) return default_splits(request, ranks.size());
  HVD_RETURN_IF_ERROR(check_splits(request, given, ranks.size()));
  return given;
}

// The shape of this rank's result; nullopt if it depends on the other ranks.
std::optional<Shape> result_shape(const Request& request,
                                  const SetPlace& place) {
  const Shape& input = request.tensors.front().shape;
  switch (describe(request.kind).rows) {
    case Rows::kWhole:
      return input;
    case Rows::kEven: {
      std::vector<std::int64_t> dims(input.dims().begin(), input.dims().end());
      dims[0] = scattered_rows(dims[0], place.set.ranks().size(),
                               static_cast<std::size_t>(place.position));
      return Shape(dims);
    }
    default:
      return std::nullopt;
  }
}

absl::StatusOr<SubmissionPtr> message(SetTable& sets, RequestKind kind,
                                      const ConstTensorView& tensor, int peer,
                                      MessageOptions options) {
  const auto made = std::make_shared<coordinator::Submission>();
  Request& request = made->request;
  request.kind = kind;
  request.key.process_set = options.process_set.id();
  request.tensors = {{.dtype = tensor.dtype(), .shape = tensor.shape()}};
  request.device = tensor.device();
  made->inputs = {tensor};
  made->peer = peer;
  made->tag = options.tag;
  made->keep_alive = std::move(options.keep_alive);
  if (!request.device.is_cpu()) {
    return absl::UnimplementedError(absl::StrCat(
        name_of(kind), " of a tensor on ", request.device.to_string(),
        ": only host memory can be sent; copy the tensor to the host"));
  }
  HVD_RETURN_IF_ERROR(check_tensors(*made));
  HVD_ASSIGN_OR_RETURN(const SetPlace place,
                       sets.place_in(options.process_set));
  const std::vector<int>& ranks = place.set.ranks();
  const bool is_any = kind == RequestKind::kReceive && peer == kAnySource;
  if (!is_any && !std::binary_search(ranks.begin(), ranks.end(), peer)) {
    return refuse(request, absl::StrCat("rank ", peer, " is not a member of ",
                                        place.set.to_string()));
  }
  HVD_RETURN_IF_ERROR(sets.admit(options.process_set, request));
  return made;
}

absl::Status check_removable(const ProcessSet& set) {
  if (!set.is_global()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "the global process set cannot be removed; it ends with the job");
}

}  // namespace

absl::StatusOr<SubmissionPtr> send_submission(SetTable& sets,
                                              const ConstTensorView& tensor,
                                              int to, MessageOptions options) {
  return message(sets, RequestKind::kSend, tensor, to, std::move(options));
}

absl::StatusOr<SubmissionPtr> receive_submission(SetTable& sets,
                                                 const TensorView& tensor,
                                                 int from,
                                                 MessageOptions options) {
  HVD_ASSIGN_OR_RETURN(
      const SubmissionPtr made,
      message(sets, RequestKind::kReceive, tensor, from, std::move(options)));
  made->outputs = {tensor};
  return made;
}

absl::StatusOr<SubmissionPtr> submission(SetTable& sets, RequestKind kind,
                                         Inputs inputs, Terms terms, int root) {
  const coordinator::Description& operation = describe(kind);
  const bool has_splits = operation.transfer == Transfer::kAlltoall;
  const SubmissionPtr made = begin(kind, std::move(inputs), terms);
  made->request.root = root;
  HVD_RETURN_IF_ERROR(check_tensors(*made));
  if (operation.transfer == Transfer::kAllgather) {
    HVD_RETURN_IF_ERROR(check_number(*made));
  }
  if (operation.has_root() || has_splits) {
    HVD_ASSIGN_OR_RETURN(const SetPlace place,
                         sets.place_in(terms.process_set));
    if (operation.has_root()) {
      HVD_RETURN_IF_ERROR(check_root(made->request, place.set));
    }
    if (has_splits) {
      HVD_ASSIGN_OR_RETURN(
          made->splits,
          splits_of(made->request, std::move(terms.splits), place));
    }
  }
  HVD_RETURN_IF_ERROR(sets.admit(terms.process_set, made->request));
  return made;
}

absl::StatusOr<SubmissionPtr> submission_into(SetTable& sets, RequestKind kind,
                                              const ConstTensorView& input,
                                              const TensorView& result,
                                              Terms terms) {
  HVD_ASSIGN_OR_RETURN(const SetPlace place, sets.place_in(terms.process_set));
  HVD_ASSIGN_OR_RETURN(const SubmissionPtr made,
                       submission(sets, kind, {input}, std::move(terms)));
  HVD_RETURN_IF_ERROR(
      check_result(*made, result, result_shape(made->request, place)));
  made->outputs = {result};
  return made;
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

absl::StatusOr<SubmissionPtr> new_set_submission(SetTable& sets,
                                                 std::vector<int> ranks,
                                                 const std::string& key) {
  HVD_ASSIGN_OR_RETURN(const SetPlace place,
                       sets.place_in(ProcessSet::global()));
  std::sort(ranks.begin(), ranks.end());
  const std::string text =
      absl::StrCat("a process set of ranks [", absl::StrJoin(ranks, ", "), "]");
  if (ranks.empty() || !are_ascending_ranks(ranks, place.size())) {
    return absl::InvalidArgumentError(absl::StrCat(
        text, ": it needs ranks from 0 to ", place.size() - 1, ", each once"));
  }
  if (!contains(ranks, place.position)) {
    return absl::InvalidArgumentError(
        absl::StrCat(text, ": rank ", place.position,
                     " is not a member, and only members create it"));
  }
  const std::string name = absl::StrCat("new_process_set ", key, " of [",
                                        absl::StrJoin(ranks, ","), "]");
  HVD_ASSIGN_OR_RETURN(const SubmissionPtr submission,
                       bare_submission(sets, RequestKind::kNewProcessSet,
                                       ProcessSet::global(), name));
  submission->request.once = true;
  submission->request.ranks = std::move(ranks);
  return submission;
}

absl::StatusOr<SubmissionPtr> free_set_submission(SetTable& sets,
                                                  const ProcessSet& set) {
  HVD_RETURN_IF_ERROR(check_removable(set));
  HVD_ASSIGN_OR_RETURN(const SetPlace place, sets.place_in(set));
  HVD_ASSIGN_OR_RETURN(
      const SubmissionPtr submission,
      bare_submission(sets, RequestKind::kFreeProcessSet, ProcessSet::global(),
                      absl::StrCat("free_process_set ", set.id())));
  submission->request.once = true;
  submission->request.ranks = place.set.ranks();
  submission->request.subject = set.id();
  return submission;
}

absl::StatusOr<SubmissionPtr> remove_set_submission(SetTable& sets,
                                                    const ProcessSet& set) {
  HVD_RETURN_IF_ERROR(check_removable(set));
  HVD_RETURN_IF_ERROR(sets.find(set).status());
  HVD_ASSIGN_OR_RETURN(const SubmissionPtr submission,
                       bare_submission(sets, RequestKind::kRemoveProcessSet,
                                       ProcessSet::global()));
  submission->request.subject = set.id();
  return submission;
}

}  // namespace hvd::runtime
