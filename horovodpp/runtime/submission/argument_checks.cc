// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/submission/argument_checks.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "horovodpp/collective/data_plane.h"
#include "horovodpp/core/status.h"
#include "horovodpp/runtime/execution/gpu_tensors.h"

namespace hvd::runtime {

using coordinator::Request;

namespace {

// Limited, because a name is sent to every rank.
constexpr std::size_t kMaxNameBytes = std::size_t{1} << 20;

// "allreduce of 'x'", as in messages.
std::string title(const Request& request) {
  const std::string kind = name_of(request.kind);
  return request.key.name.empty()
             ? kind
             : absl::StrCat(kind, " of ", request.key.to_string());
}

absl::Status check_tensor(const ConstTensorView& tensor) {
  const auto dtype = static_cast<std::uint8_t>(tensor.dtype());
  if (!dtype_from_wire(dtype)) {
    return absl::InvalidArgumentError(
        absl::StrCat("dtype ", static_cast<int>(dtype),
                     " does not exist; use a value of DType"));
  }
  const Device device = tensor.device();
  if (device.kind != DeviceKind::kCpu && device.kind != DeviceKind::kCuda) {
    return absl::InvalidArgumentError(
        absl::StrCat("device kind ", static_cast<int>(device.kind),
                     " does not exist; use a value of DeviceKind"));
  }
  HVD_RETURN_IF_ERROR(tensor.shape().checked(size_of(tensor.dtype())));
  if (tensor.shape().rank() > coordinator::kMaxDimensions) {
    return absl::InvalidArgumentError(absl::StrCat(
        "there are ", tensor.shape().rank(), " dimensions; at most ",
        coordinator::kMaxDimensions, " are supported, so reshape it"));
  }
  if (tensor.data() == nullptr && tensor.bytes() > 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(tensor.to_string(), " has no memory"));
  }
  return device.is_cpu() ? absl::OkStatus() : check_gpu_tensor(tensor);
}

// Checks tensor `index` of a submission; the error does not name it.
absl::Status check_member(const coordinator::Submission& submission,
                          std::size_t index) {
  const Request& request = submission.request;
  const ConstTensorView& tensor = submission.inputs[index];
  const ConstTensorView& first = submission.inputs.front();
  if (tensor.device() != first.device()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "it is on ", tensor.device().to_string(), " and tensor 0 on ",
        first.device().to_string(), "; a group lies on one device"));
  }
  HVD_RETURN_IF_ERROR(check_tensor(tensor));
  const coordinator::Description& operation = describe(request.kind);
  if (operation.needs_rows() && tensor.shape().rank() == 0) {
    return absl::InvalidArgumentError(
        "a scalar has no first dimension; give it the shape [1]");
  }
  if (!operation.reduces()) return absl::OkStatus();
  const collective::Reduction reduction = {.dtype = tensor.dtype(),
                                           .op = request.op,
                                           .prescale = request.prescale,
                                           .postscale = request.postscale};
  return operation.transfer == coordinator::Transfer::kAllreduce
             ? collective::check(reduction)
             : collective::check_scattered(reduction);
}

// Checks that apply to a reduction of any tensor.
absl::Status check_reduction(const Request& request) {
  const auto op = static_cast<std::uint8_t>(request.op);
  if (!reduce_op_from_wire(op)) {
    return refuse(request,
                  absl::StrCat("op ", static_cast<int>(op),
                               " does not exist; use a value of ReduceOp"));
  }
  if (std::isfinite(request.prescale) && std::isfinite(request.postscale)) {
    return absl::OkStatus();
  }
  return refuse(request, absl::StrCat("prescale ", request.prescale,
                                      " and postscale ", request.postscale,
                                      "; both must be finite numbers"));
}

}  // namespace

absl::Status refuse(const Request& request, const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat(title(request), ": ", why));
}

absl::Status check_tensors(const coordinator::Submission& submission) {
  const Request& request = submission.request;
  const std::size_t count = submission.inputs.size();
  if (count == 0) {
    return refuse(request,
                  "a group of no tensors; give it one or leave the call out");
  }
  if (request.key.name.size() > kMaxNameBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        name_of(request.kind), ": a name of ", request.key.name.size(),
        " bytes; at most ", kMaxNameBytes, " are sent, so shorten it"));
  }
  if (describe(request.kind).reduces()) {
    HVD_RETURN_IF_ERROR(check_reduction(request));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const absl::Status status = check_member(submission, i);
    if (status.ok()) continue;
    return annotate(status, count == 1
                                ? title(request)
                                : absl::StrCat(title(request), ": tensor ", i,
                                               " of the group's ", count));
  }
  return absl::OkStatus();
}

absl::Status check_result(const coordinator::Submission& submission,
                          const TensorView& result,
                          const std::optional<Shape>& shape) {
  const ConstTensorView& tensor = submission.inputs.front();
  HVD_RETURN_IF_ERROR(
      annotate(check_tensor(result),
               absl::StrCat(title(submission.request), ": the result")));
  const bool fits = shape ? result.shape() == *shape
                          : result.shape().rank() == tensor.shape().rank() &&
                                result.shape().tail() == tensor.shape().tail();
  if (fits && result.dtype() == tensor.dtype()) return absl::OkStatus();
  return refuse(
      submission.request,
      absl::StrCat("a result of ", result.to_string(), " for a tensor of ",
                   tensor.to_string(), "; give it ", name_of(tensor.dtype()),
                   shape ? shape->to_string() : " and rows of that shape"));
}

absl::Status check_splits(const Request& request,
                          const std::vector<std::int64_t>& splits,
                          std::size_t ranks) {
  if (splits.size() != ranks) {
    return refuse(request,
                  absl::StrCat("there are ", splits.size(), " splits for ",
                               ranks, " ranks; give one for each"));
  }
  const std::int64_t rows = request.tensors.front().shape[0];
  std::int64_t left = rows;
  for (const std::int64_t split : splits) {
    if (split < 0) {
      return refuse(request, absl::StrCat("a split is ", split,
                                          "; a rank gets 0 rows or more"));
    }
    if (split > left) {
      return refuse(request,
                    absl::StrCat("the splits add up to more than the first "
                                 "dimension, which is ",
                                 rows, "; lower them"));
    }
    left -= split;
  }
  return absl::OkStatus();
}

}  // namespace hvd::runtime
