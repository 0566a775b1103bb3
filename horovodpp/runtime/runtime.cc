#include "horovodpp/runtime/runtime.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/collective/data_plane.h"
#include "horovodpp/coordinator/tensor_queue.h"
#include "horovodpp/core/status.h"
#include "horovodpp/runtime/job.h"
#include "horovodpp/runtime/start_up.h"
#include "horovodpp/transport/communicator.h"

namespace hvd {

using coordinator::Request;
using coordinator::RequestKind;
using coordinator::Submission;

namespace {

Request describe(RequestKind kind, const ConstTensorView& tensor,
                 std::string name) {
  Request request;
  request.kind = kind;
  request.name = std::move(name);
  request.dtype = tensor.dtype();
  request.shape = tensor.shape();
  request.device = tensor.device();
  return request;
}

absl::Status check_tensor(const Request& request,
                          const ConstTensorView& tensor) {
  HVD_RETURN_IF_ERROR(annotate(tensor.shape().checked(size_of(tensor.dtype())),
                               absl::StrCat("tensor '", request.name, "'")));
  if (tensor.shape().rank() > coordinator::kMaxDimensions) {
    return absl::InvalidArgumentError(
        absl::StrCat("tensor '", request.name, "' has ", tensor.shape().rank(),
                     " dimensions; at most ", coordinator::kMaxDimensions,
                     " are supported, so reshape it"));
  }
  if (!tensor.device().is_cpu()) {
    return absl::UnimplementedError(absl::StrCat(
        "tensor '", request.name, "' is on ", tensor.device().to_string(),
        "; this build moves tensors in CPU memory"));
  }
  if (tensor.data() == nullptr && tensor.bytes() > 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "tensor '", request.name, "' ", tensor.to_string(), " has no memory"));
  }
  if (request.kind == RequestKind::kAllgather && tensor.shape().rank() == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "allgather of '", request.name,
        "': a scalar has no first dimension; give it the shape [1]"));
  }
  return absl::OkStatus();
}

absl::Status check_root(const Request& request, int size) {
  if (request.root >= 0 && request.root < size) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("broadcast of '", request.name, "': there is no rank ",
                   request.root, " in a job of ", size));
}

Request allreduce_request(const ConstTensorView& tensor,
                          AllreduceOptions options) {
  Request request =
      describe(RequestKind::kAllreduce, tensor, std::move(options.name));
  request.op = options.op;
  request.prescale = options.prescale_factor;
  request.postscale = options.postscale_factor;
  return request;
}

Request broadcast_request(const ConstTensorView& tensor, int root,
                          BroadcastOptions options) {
  Request request =
      describe(RequestKind::kBroadcast, tensor, std::move(options.name));
  request.root = root;
  return request;
}

// Submits an operation that works on `tensor` in place.
Future<void> run_in_place(runtime::Job& job, Request request,
                          TensorView tensor) {
  Promise<void> promise;
  job.submit({.request = std::move(request),
              .input = tensor,
              .output = tensor,
              .done = [promise](const absl::StatusOr<Buffer>& outcome) {
                promise.set(outcome.status());
              }});
  return promise.future();
}

// Submits an operation whose result is a tensor like its input.
Future<Buffer> run_into_buffer(runtime::Job& job, Request request,
                               const ConstTensorView& tensor) {
  absl::StatusOr<Buffer> output =
      Buffer::allocate(tensor.dtype(), tensor.shape());
  if (!output.ok()) return Future<Buffer>::ready(output.status());
  Promise<Buffer> promise;
  job.submit(
      {.request = std::move(request),
       .input = tensor,
       .output = output->view(),
       .done = [promise, output = *output](absl::StatusOr<Buffer> outcome) {
         if (outcome.ok()) outcome = output;
         promise.set(std::move(outcome));
       }});
  return promise.future();
}

absl::Status check_allreduce(const Request& request,
                             const ConstTensorView& tensor) {
  HVD_RETURN_IF_ERROR(check_tensor(request, tensor));
  return annotate(collective::check({.dtype = request.dtype,
                                     .op = request.op,
                                     .prescale = request.prescale,
                                     .postscale = request.postscale}),
                  absl::StrCat("allreduce of '", request.name, "'"));
}

absl::Status check_broadcast(const Request& request,
                             const ConstTensorView& tensor, int size) {
  HVD_RETURN_IF_ERROR(check_tensor(request, tensor));
  return check_root(request, size);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Runtime>> Runtime::start(const Config& config) {
  HVD_ASSIGN_OR_RETURN(std::unique_ptr<transport::Communicator> wires,
                       runtime::make_communicator(config));
  return start(config, std::move(wires));
}

absl::StatusOr<std::unique_ptr<Runtime>> Runtime::start(
    const Config& config,
    std::unique_ptr<transport::Communicator> communicator) {
  HVD_ASSIGN_OR_RETURN(std::unique_ptr<runtime::Job> job,
                       runtime::Job::start(config, std::move(communicator)));
  return std::unique_ptr<Runtime>(new Runtime(std::move(job)));
}

Runtime::Runtime(std::unique_ptr<runtime::Job> job) : job_(std::move(job)) {}
Runtime::~Runtime() = default;

absl::Status Runtime::stop() { return job_->stop(); }
void Runtime::abort(const std::string& why) { job_->abort(why); }
const Topology& Runtime::topology() const { return job_->topology(); }
absl::Status Runtime::status() const { return job_->status(); }

Future<void> Runtime::allreduce_async_(TensorView tensor,
                                       AllreduceOptions options) {
  Request request = allreduce_request(tensor, std::move(options));
  if (absl::Status bad = check_allreduce(request, tensor); !bad.ok()) {
    return Future<void>::ready(bad);
  }
  return run_in_place(*job_, std::move(request), tensor);
}

Future<Buffer> Runtime::allreduce_async(ConstTensorView tensor,
                                        AllreduceOptions options) {
  Request request = allreduce_request(tensor, std::move(options));
  if (absl::Status bad = check_allreduce(request, tensor); !bad.ok()) {
    return Future<Buffer>::ready(bad);
  }
  return run_into_buffer(*job_, std::move(request), tensor);
}

Future<Buffer> Runtime::allgather_async(ConstTensorView tensor,
                                        AllgatherOptions options) {
  Request request =
      describe(RequestKind::kAllgather, tensor, std::move(options.name));
  if (absl::Status bad = check_tensor(request, tensor); !bad.ok()) {
    return Future<Buffer>::ready(bad);
  }
  Promise<Buffer> promise;
  job_->submit({.request = std::move(request),
                .input = tensor,
                .output = {},
                .done = [promise](absl::StatusOr<Buffer> outcome) {
                  promise.set(std::move(outcome));
                }});
  return promise.future();
}

Future<void> Runtime::broadcast_async_(TensorView tensor, int root_rank,
                                       BroadcastOptions options) {
  Request request = broadcast_request(tensor, root_rank, std::move(options));
  if (absl::Status bad = check_broadcast(request, tensor, topology().size());
      !bad.ok()) {
    return Future<void>::ready(bad);
  }
  return run_in_place(*job_, std::move(request), tensor);
}

Future<Buffer> Runtime::broadcast_async(ConstTensorView tensor, int root_rank,
                                        BroadcastOptions options) {
  Request request = broadcast_request(tensor, root_rank, std::move(options));
  if (absl::Status bad = check_broadcast(request, tensor, topology().size());
      !bad.ok()) {
    return Future<Buffer>::ready(bad);
  }
  return run_into_buffer(*job_, std::move(request), tensor);
}

Future<void> Runtime::barrier_async() {
  return run_in_place(*job_,
                      describe(RequestKind::kBarrier, ConstTensorView(), ""),
                      TensorView());
}

}  // namespace hvd
