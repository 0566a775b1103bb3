// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/reductions.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/collective/reduce/identity.h"
#include "horovodpp/core/status.h"

namespace hvd::runtime {

using collective::Piece;
using collective::Reduction;
using coordinator::Request;
using coordinator::TensorSpec;

namespace {

Reduction reduction_of(const Request& request, DType dtype, int participants) {
  return {.dtype = dtype,
          .op = request.op,
          .prescale = request.prescale,
          .postscale = request.postscale,
          .participants = request.average_of_participants ? participants : 0};
}

// The parts that can be reduced though ranks have joined; the others get their
// error, on every rank alike.
std::vector<BatchPart*> feasible(std::vector<BatchPart>& parts,
                                 bool somebody_joined) {
  std::vector<BatchPart*> good;
  for (BatchPart& part : parts) {
    absl::Status status;
    for (const TensorSpec& tensor : part.agreed.tensors) {
      if (!somebody_joined || !status.ok()) break;
      status = collective::check_identity(
          reduction_of(part.agreed, tensor.dtype, 0));
    }
    if (status.ok()) {
      good.push_back(&part);
    } else {
      part.outcome =
          annotate(status, absl::StrCat(name_of(part.agreed.kind), " of ",
                                        part.agreed.key.to_string()));
    }
  }
  return good;
}

// In the order in which they first come, which is the same on all ranks.
std::vector<DType> dtypes_of(const std::vector<BatchPart*>& parts) {
  std::vector<DType> dtypes;
  for (const BatchPart* part : parts) {
    for (const TensorSpec& tensor : part->agreed.tensors) {
      if (std::find(dtypes.begin(), dtypes.end(), tensor.dtype) ==
          dtypes.end()) {
        dtypes.push_back(tensor.dtype);
      }
    }
  }
  return dtypes;
}

// What one call reduces: pieces of one dtype, and the memory of those for which
// this rank has none of its own.
struct Load {
  std::vector<Piece> pieces = {};
  std::vector<std::int64_t> counts = {};  // Of a reducescatter.
  std::vector<Buffer> scratch = {};
  std::size_t bytes = 0;
};

absl::StatusOr<void*> scratch(Load& load, DType dtype, std::int64_t count) {
  HVD_ASSIGN_OR_RETURN(Buffer buffer, Buffer::allocate(dtype, Shape({count})));
  load.scratch.push_back(std::move(buffer));
  return load.scratch.back().view().data();
}

absl::Status add_piece(const BatchPart& part, std::size_t index,
                       const Reduction& reduction, Load& load) {
  const TensorSpec& tensor = part.agreed.tensors[index];
  Piece piece{.count = tensor.shape.num_elements()};
  if (part.mine != nullptr) {
    piece.input = part.mine->inputs[index].data();
    piece.output = part.mine->outputs[index].data();
  } else {
    HVD_ASSIGN_OR_RETURN(piece.output,
                         scratch(load, tensor.dtype, piece.count));
    collective::fill_identity(reduction, piece.output, piece.count);
    piece.input = piece.output;
  }
  load.pieces.push_back(piece);
  load.bytes += tensor.bytes();
  return absl::OkStatus();
}

// As add_piece(), of a tensor of which this rank gets its part only: into
// memory of the runtime's, unless the caller gave some.
absl::Status add_scattered(const PlaneCalls& calls, BatchPart& part,
                           std::size_t index, Load& load) {
  const TensorSpec& tensor = part.agreed.tensors[index];
  Piece piece{.count = tensor.shape.num_elements()};
  const std::int64_t row = tensor.shape.tail().num_elements();
  for (std::size_t r = 0; r < calls.ranks(); ++r) {
    load.counts.push_back(row *
                          scattered_rows(tensor.shape[0], calls.ranks(), r));
  }
  if (part.mine == nullptr) {
    const Reduction reduction = reduction_of(part.agreed, tensor.dtype, 0);
    HVD_ASSIGN_OR_RETURN(void* input, scratch(load, tensor.dtype, piece.count));
    collective::fill_identity(reduction, input, piece.count);
    piece.input = input;
  } else {
    piece.input = part.mine->inputs[index].data();
  }
  if (part.mine != nullptr && !part.mine->outputs.empty()) {
    piece.output = part.mine->outputs[index].data();
  } else {
    std::vector<std::int64_t> dims(tensor.shape.dims().begin(),
                                   tensor.shape.dims().end());
    dims[0] = scattered_rows(dims[0], calls.ranks(), calls.position());
    HVD_ASSIGN_OR_RETURN(
        part.outcome->tensors[index],
        Buffer::allocate(tensor.dtype, Shape(std::move(dims))));
    piece.output = part.outcome->tensors[index].view().data();
  }
  load.pieces.push_back(piece);
  load.bytes += tensor.bytes();
  return absl::OkStatus();
}

// Calls `add(part, index)` for every tensor of one dtype.
template <typename Add>
absl::Status for_each_of(DType dtype, const std::vector<BatchPart*>& parts,
                         Add add) {
  for (BatchPart* part : parts) {
    for (std::size_t i = 0; i < part->agreed.tensors.size(); ++i) {
      if (part->agreed.tensors[i].dtype != dtype) continue;
      HVD_RETURN_IF_ERROR(add(*part, i));
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::int64_t scattered_rows(std::int64_t rows, std::size_t ranks,
                            std::size_t position) {
  const auto n = static_cast<std::int64_t>(ranks);
  return rows / n + (static_cast<std::int64_t>(position) < rows % n ? 1 : 0);
}

absl::Status execute_allreduce(PlaneCalls& calls, int participants,
                               std::vector<BatchPart>& parts) {
  const Request& request = parts.front().agreed;
  const auto good = feasible(parts, participants < calls.set().size());
  for (const DType dtype : dtypes_of(good)) {
    const Reduction reduction = reduction_of(request, dtype, participants);
    Load load;
    HVD_RETURN_IF_ERROR(
        for_each_of(dtype, good, [&](BatchPart& part, std::size_t i) {
          return add_piece(part, i, reduction, load);
        }));
    HVD_RETURN_IF_ERROR(calls.make(
        request.device, load.bytes,
        [&](auto& plane, const auto& call) {
          return plane.allreduce(load.pieces, reduction, call);
        },
        reduction.op));
  }
  return absl::OkStatus();
}

absl::Status execute_reducescatter(PlaneCalls& calls, int participants,
                                   std::vector<BatchPart>& parts) {
  const Request& request = parts.front().agreed;
  const auto good = feasible(parts, participants < calls.set().size());
  for (BatchPart* part : good) {
    part->outcome->tensors.resize(part->agreed.tensors.size());
  }
  for (const DType dtype : dtypes_of(good)) {
    const Reduction reduction = reduction_of(request, dtype, participants);
    Load load;
    HVD_RETURN_IF_ERROR(
        for_each_of(dtype, good, [&](BatchPart& part, std::size_t i) {
          return add_scattered(calls, part, i, load);
        }));
    HVD_RETURN_IF_ERROR(calls.make(
        request.device, load.bytes, [&](auto& plane, const auto& call) {
          return plane.reducescatter(load.pieces, load.counts, reduction, call);
        }));
  }
  return absl::OkStatus();
}

}  // namespace hvd::runtime
