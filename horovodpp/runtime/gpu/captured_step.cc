// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/gpu/captured_step.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"
#include "horovodpp/device/cuda_graph.h"
#include "horovodpp/device/gpus.h"
#include "horovodpp/runtime/runtime.h"

namespace hvd {
namespace {

absl::Status check(const CaptureOptions& options) {
  if (options.name.empty()) {
    return absl::InvalidArgumentError(
        "a captured step needs a name, by which ranks agree on its replays");
  }
  if (options.stream == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "step '", options.name,
        "': the legacy default stream cannot be captured; give a stream"));
  }
  if (options.device.is_cpu()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "step '", options.name, "': only a step on a GPU can be captured"));
  }
  return absl::OkStatus();
}

// Captures a stream; the destructor abandons a capture that did not end.
class Recording {
 public:
  static absl::StatusOr<Recording> begin(const device::CudaContext& context,
                                         device::CuStream stream) {
    HVD_RETURN_IF_ERROR(device::CudaGraph::begin(context, stream));
    return Recording(context, stream);
  }
  Recording(Recording&& other) noexcept
      : context_(other.context_),
        stream_(std::exchange(other.stream_, nullptr)) {}
  Recording& operator=(Recording&&) = delete;
  ~Recording() {
    if (stream_ != nullptr) end().status().IgnoreError();
  }

  absl::StatusOr<std::shared_ptr<device::CudaGraph>> end() {
    return device::CudaGraph::end(context_, std::exchange(stream_, nullptr));
  }

 private:
  Recording(const device::CudaContext& context, device::CuStream stream)
      : context_(context), stream_(stream) {}

  const device::CudaContext context_;
  device::CuStream stream_;
};

}  // namespace

CapturedStep::CapturedStep() = default;
CapturedStep::~CapturedStep() = default;
CapturedStep::CapturedStep(CapturedStep&& other) noexcept = default;
CapturedStep& CapturedStep::operator=(CapturedStep&& other) noexcept = default;

CapturedStep::CapturedStep(Membership membership, CaptureOptions options,
                           std::shared_ptr<const device::CudaGraph> graph)
    : membership_(std::move(membership)),
      options_(std::move(options)),
      graph_(std::move(graph)) {}

StatusOr<CapturedStep> CapturedStep::capture(
    Runtime& job, const CaptureOptions& options,
    const std::function<Status()>& step) {
  HVD_RETURN_IF_ERROR(check(options));
  HVD_ASSIGN_OR_RETURN(device::CudaDriver* const cuda,
                       device::Gpus::of_process().driver());
  HVD_ASSIGN_OR_RETURN(const device::CudaContext context,
                       cuda->context(options.device.index));
  HVD_ASSIGN_OR_RETURN(
      Recording recording,
      Recording::begin(context, static_cast<device::CuStream>(options.stream)));
  if (Status done = step(); !done.ok()) return done;
  const auto graph = recording.end();
  if (!graph.ok()) {
    return annotate(
        graph.status(),
        absl::StrCat("step '", options.name,
                     "' was not captured; was each collective in it put behind "
                     "in the stream, by wait(stream)?"));
  }
  job.keep_captured(*graph);
  return CapturedStep(job.membership(), options, *graph);
}

Future<void> CapturedStep::replay() {
  if (graph_ == nullptr) {
    return Future<void>::ready(
        Status(StatusCode::kFailedPrecondition,
               "this CapturedStep is of no step, or was moved away"));
  }
  const StatusOr<std::shared_ptr<Runtime>> job = membership_.enter();
  if (!job.ok()) return Future<void>::ready(job.status());
  return (*job)->replay(options_, graph_);
}

}  // namespace hvd
