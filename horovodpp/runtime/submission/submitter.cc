// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/submission/submitter.h"

#include <string>

#include "horovodpp/core/status.h"
#include "horovodpp/runtime/execution/gpu_tensors.h"

namespace hvd::runtime {

std::vector<Buffer> Submitter::add_outputs(Built& built) {
  std::vector<Buffer> outputs;
  if (!built.ok()) return outputs;
  const auto transfer = describe((*built)->request.kind).transfer;
  if (transfer != coordinator::Transfer::kAllreduce &&
      transfer != coordinator::Transfer::kBroadcast) {
    return outputs;
  }
  for (const ConstTensorView& input : (*built)->inputs) {
    absl::StatusOr<Buffer> output =
        allocate_result(input.dtype(), input.shape(), input.device());
    if (!output.ok()) {
      built = output.status();
      return {};
    }
    (*built)->outputs.push_back(output->view());
    outputs.push_back(*std::move(output));
  }
  return outputs;
}

Submitter::Joiner Submitter::joiner_of(
    const coordinator::Request& request) const {
  const bool joins = request.kind == coordinator::RequestKind::kJoin;
  return {joins ? &sets_ : nullptr, request.key.process_set};
}

void Submitter::Joiner::operator()(bool all_have_joined) const {
  if (sets != nullptr) sets->join_ended(set, all_have_joined);
}

void Submitter::hand_on(const coordinator::SubmissionPtr& submission) {
  const coordinator::Request& request = submission->request;
  switch (request.kind) {
    case coordinator::RequestKind::kJoin:
      return barriers_.submit_behind(request.key.process_set, submission);
    case coordinator::RequestKind::kRemoveProcessSet:
    case coordinator::RequestKind::kFreeProcessSet:
      return barriers_.submit_behind(request.subject, submission);
    default:
      sink_.submit(submission);
  }
}

void Submitter::report(const std::weak_ptr<SubmissionSink>& sink,
                       const char* what) {
  if (const auto inside = sink.lock()) inside->callback_threw(what);
}

// Unnamed calls get a new number each time, and streams differ from call to
// call.
Future<void> Submitter::by_name(Built built, const ProcessSet& set,
                                const TensorView& tensor) {
  if (!built.ok() || (*built)->request.once ||
      !(*built)->request.device.is_cpu()) {
    return in_place(std::move(built), {tensor});
  }
  return calls_.make(std::move(**built), set, tensor);
}

StatusOr<std::unique_ptr<PreparedCall>> Submitter::prepare(
    Built built, const ProcessSet& set, coordinator::Outputs outputs) {
  HVD_ASSIGN_OR_RETURN(coordinator::SubmissionPtr submission, std::move(built));
  submission->outputs = std::move(outputs);
  return std::make_unique<PreparedCall>(std::move(submission), set, sets_,
                                        key_);
}

}  // namespace hvd::runtime
