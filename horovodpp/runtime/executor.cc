#include "horovodpp/runtime/executor.h"

#include <cstddef>
#include <limits>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"

namespace hvd::runtime {

using coordinator::Request;
using coordinator::RequestKind;
using coordinator::Submission;

namespace {

// The shape of the ranks' rows together.
absl::StatusOr<Shape> gathered_shape(const Request& request,
                                     const std::vector<std::int64_t>& rows) {
  std::vector<std::int64_t> dims = request.shape.dims();
  dims[0] = 0;
  for (const std::int64_t r : rows) {
    if (r > std::numeric_limits<std::int64_t>::max() - dims[0]) {
      return absl::InvalidArgumentError(absl::StrCat(
          "allgather of '", request.name,
          "': the ranks' first dimensions add up to more than 2^63"));
    }
    dims[0] += r;
  }
  Shape shape(std::move(dims));
  HVD_RETURN_IF_ERROR(
      annotate(shape.checked(size_of(request.dtype)),
               absl::StrCat("allgather of '", request.name, "'")));
  return shape;
}

}  // namespace

absl::Status Executor::run(const coordinator::Batch& batch,
                           std::vector<Submission>& submissions) {
  switch (batch.request.kind) {
    case RequestKind::kAllreduce:
      HVD_RETURN_IF_ERROR(allreduce(batch.request, submissions));
      break;
    case RequestKind::kAllgather:
      return allgather(submissions.front());
    case RequestKind::kBroadcast:
      HVD_RETURN_IF_ERROR(broadcast(submissions.front()));
      break;
    case RequestKind::kBarrier:
      break;  // That it is being executed says that every rank has arrived.
  }
  for (Submission& submission : submissions) submission.done(Buffer());
  return absl::OkStatus();
}

absl::Status Executor::allreduce(const Request& request,
                                 const std::vector<Submission>& submissions) {
  std::vector<collective::Piece> pieces;
  pieces.reserve(submissions.size());
  std::size_t bytes = 0;
  for (const Submission& s : submissions) {
    pieces.push_back({s.input.data(), s.output.data(), s.input.num_elements()});
    bytes += s.input.bytes();
  }
  HVD_ASSIGN_OR_RETURN(collective::DataPlane * plane,
                       planes_.select(request.device, bytes));
  return plane->allreduce(pieces,
                          {.dtype = request.dtype,
                           .op = request.op,
                           .prescale = request.prescale,
                           .postscale = request.postscale},
                          next_call());
}

// First everybody's number of rows, as it may differ and change from call to
// call; then the rows. The choice of a plane is made from what all ranks know.
absl::Status Executor::allgather(Submission& submission) {
  const Request& request = submission.request;
  const std::int64_t my_rows = request.shape[0];
  std::vector<std::int64_t> rows(static_cast<std::size_t>(topology_.size()));
  const std::vector<std::size_t> one_each(rows.size(), sizeof(std::int64_t));
  HVD_ASSIGN_OR_RETURN(
      collective::DataPlane * counts,
      planes_.select(request.device, rows.size() * sizeof(std::int64_t)));
  HVD_RETURN_IF_ERROR(counts->allgather(
      std::as_bytes(std::span(&my_rows, 1)), one_each,
      reinterpret_cast<std::byte*>(rows.data()), next_call()));

  absl::StatusOr<Shape> shape = gathered_shape(request, rows);
  if (!shape.ok()) {  // On every rank.
    submission.done(shape.status());
    return absl::OkStatus();
  }
  const std::size_t row_bytes =
      static_cast<std::size_t>(request.shape.tail().num_elements()) *
      size_of(request.dtype);
  std::vector<std::size_t> bytes;
  for (std::int64_t r : rows) {
    bytes.push_back(static_cast<std::size_t>(r) * row_bytes);
  }
  HVD_ASSIGN_OR_RETURN(Buffer output,
                       Buffer::allocate(request.dtype, *std::move(shape)));
  const std::span<const std::byte> input(
      static_cast<const std::byte*>(submission.input.data()),
      submission.input.bytes());
  HVD_ASSIGN_OR_RETURN(collective::DataPlane * plane,
                       planes_.select(request.device, output.bytes()));
  HVD_RETURN_IF_ERROR(plane->allgather(
      input, bytes, static_cast<std::byte*>(output.view().data()),
      next_call()));
  submission.done(std::move(output));
  return absl::OkStatus();
}

absl::Status Executor::broadcast(const Submission& submission) {
  const Request& request = submission.request;
  HVD_ASSIGN_OR_RETURN(collective::DataPlane * plane,
                       planes_.select(request.device, request.bytes()));
  const bool is_root = topology_.rank() == request.root;
  return plane->broadcast(
      is_root ? static_cast<const std::byte*>(submission.input.data())
              : nullptr,
      static_cast<std::byte*>(submission.output.data()), request.bytes(),
      request.root, next_call());
}

}  // namespace hvd::runtime
