// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/execution/reductions.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/collective/reduce/identity.h"
#include "horovodpp/core/status.h"
#include "horovodpp/runtime/execution/gpu_tensors.h"

namespace hvd::runtime {

using collective::Piece;
using collective::Reduction;
using coordinator::Request;
using coordinator::TensorSpec;

namespace {

// Fails the parts that cannot be reduced because ranks have joined, on every
// rank alike.
void refuse_without_identity(std::vector<BatchPart>& parts) {
  for (BatchPart& part : parts) {
    for (const TensorSpec& tensor : part.agreed.tensors) {
      const absl::Status status = collective::check_identity(
          reduction_of(part.agreed, tensor.dtype, 0));
      if (status.ok()) continue;
      part.outcome =
          annotate(status, absl::StrCat(name_of(part.agreed.kind), " of ",
                                        part.agreed.key.to_string()));
      break;
    }
  }
}

// Calls `add(part, index)` for every tensor of one dtype that is reduced.
template <typename Add>
absl::Status for_each_of(DType dtype, std::vector<BatchPart>& parts, Add add) {
  for (BatchPart& part : parts) {
    if (!part.outcome.ok()) continue;
    for (std::size_t i = 0; i < part.agreed.tensors.size(); ++i) {
      if (part.agreed.tensors[i].dtype != dtype) continue;
      HVD_RETURN_IF_ERROR(add(part, i));
    }
  }
  return absl::OkStatus();
}

// Calls `reduce(dtype)` for each dtype, in the order of first occurrence, which
// is the same on all ranks.
template <typename Reduce>
absl::Status for_each_dtype(const std::vector<BatchPart>& parts,
                            Reduce reduce) {
  std::uint64_t done = 0;  // A bit for each dtype.
  for (const BatchPart& part : parts) {
    if (!part.outcome.ok()) continue;
    for (const TensorSpec& tensor : part.agreed.tensors) {
      const std::uint64_t bit = std::uint64_t{1}
                                << static_cast<unsigned>(tensor.dtype);
      if ((done & bit) != 0) continue;
      done |= bit;
      HVD_RETURN_IF_ERROR(reduce(tensor.dtype));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<void*> add_memory(ReductionScratch& scratch, DType dtype,
                                 std::int64_t count) {
  HVD_ASSIGN_OR_RETURN(Buffer buffer, Buffer::allocate(dtype, Shape({count})));
  scratch.memory.push_back(std::move(buffer));
  return scratch.memory.back().view().data();
}

absl::Status add_piece(const BatchPart& part, std::size_t index,
                       const Reduction& reduction, ReductionScratch& scratch) {
  const TensorSpec& tensor = part.agreed.tensors[index];
  Piece piece{.count = tensor.shape.num_elements()};
  if (part.mine != nullptr) {
    piece.input = part.mine->inputs[index].data();
    piece.output = part.mine->outputs[index].data();
  } else {
    HVD_ASSIGN_OR_RETURN(piece.output,
                         add_memory(scratch, tensor.dtype, piece.count));
    collective::fill_identity(reduction, piece.output, piece.count);
    piece.input = piece.output;
  }
  scratch.pieces.push_back(piece);
  scratch.bytes += tensor.bytes();
  return absl::OkStatus();
}

// The elements of a tensor's result for the rank at `position` of the set: all
// for the root, if any, else the rank's share of rows.
std::int64_t elements_for(const PlaneCalls& calls, const BatchPart& part,
                          const TensorSpec& tensor, std::size_t position) {
  if (!describe(part.agreed.kind).has_root()) {
    return tensor.shape.tail().num_elements() *
           scattered_rows(tensor.shape[0], calls.ranks(), position);
  }
  const bool is_root = calls.set().members[position] == part.agreed.root;
  return is_root ? tensor.shape.num_elements() : 0;
}

// The shape of this rank's part of the result; nullopt: it gets none.
std::optional<Shape> part_of(const PlaneCalls& calls, const BatchPart& part,
                             const TensorSpec& tensor) {
  if (describe(part.agreed.kind).has_root()) {
    const bool is_root =
        calls.set().members[calls.position()] == part.agreed.root;
    return is_root ? std::optional(tensor.shape) : std::nullopt;
  }
  std::vector<std::int64_t> dims(tensor.shape.dims().begin(),
                                 tensor.shape.dims().end());
  dims[0] = scattered_rows(dims[0], calls.ranks(), calls.position());
  return Shape(dims);
}

// As add_piece(), of a tensor whose result is scattered: this rank gets its
// part in the caller's memory if given, else in new memory.
absl::Status add_scattered(const PlaneCalls& calls, BatchPart& part,
                           std::size_t index, ReductionScratch& scratch) {
  const TensorSpec& tensor = part.agreed.tensors[index];
  Piece piece{.count = tensor.shape.num_elements()};
  for (std::size_t r = 0; r < calls.ranks(); ++r) {
    scratch.counts.push_back(elements_for(calls, part, tensor, r));
  }
  if (part.mine == nullptr) {
    const Reduction reduction = reduction_of(part.agreed, tensor.dtype, 0);
    HVD_ASSIGN_OR_RETURN(void* input,
                         add_memory(scratch, tensor.dtype, piece.count));
    collective::fill_identity(reduction, input, piece.count);
    piece.input = input;
  } else {
    piece.input = part.mine->inputs[index].data();
  }
  const std::optional<Shape> mine = part_of(calls, part, tensor);
  if (mine && part.mine != nullptr && !part.mine->outputs.empty()) {
    piece.output = part.mine->outputs[index].data();
  } else if (mine) {
    HVD_ASSIGN_OR_RETURN(
        part.outcome->tensors[index],
        allocate_result(
            tensor.dtype, *mine,
            part.mine == nullptr ? Device::cpu() : part.mine->request.device));
    piece.output = part.outcome->tensors[index].view().data();
  }
  scratch.pieces.push_back(piece);
  scratch.bytes += tensor.bytes();
  return absl::OkStatus();
}

}  // namespace

Reduction reduction_of(const Request& request, DType dtype, int participants) {
  return {.dtype = dtype,
          .op = request.op,
          .prescale = request.prescale,
          .postscale = request.postscale,
          .participants = request.average_of_participants ? participants : 0};
}

std::int64_t scattered_rows(std::int64_t rows, std::size_t ranks,
                            std::size_t position) {
  const auto n = static_cast<std::int64_t>(ranks);
  return rows / n + (static_cast<std::int64_t>(position) < rows % n ? 1 : 0);
}

void ReductionScratch::clear() {
  pieces.clear();
  counts.clear();
  memory.clear();
  bytes = 0;
}

absl::Status execute_allreduce(PlaneCalls& calls, int participants,
                               std::vector<BatchPart>& parts,
                               ReductionScratch& scratch) {
  const Request& request = parts.front().agreed;
  if (participants < calls.set().size()) refuse_without_identity(parts);
  return for_each_dtype(parts, [&](DType dtype) -> absl::Status {
    const Reduction reduction = reduction_of(request, dtype, participants);
    scratch.clear();
    HVD_RETURN_IF_ERROR(
        for_each_of(dtype, parts, [&](const BatchPart& part, std::size_t i) {
          return add_piece(part, i, reduction, scratch);
        }));
    const absl::Status status = calls.make(
        request.device, scratch.bytes,
        [&](auto& plane, const auto& call) {
          return plane.allreduce(scratch.pieces, reduction, call);
        },
        reduction.op);
    scratch.memory.clear();
    return status;
  });
}

absl::Status execute_reducescatter(PlaneCalls& calls, int participants,
                                   std::vector<BatchPart>& parts,
                                   ReductionScratch& scratch) {
  const Request& request = parts.front().agreed;
  if (participants < calls.set().size()) refuse_without_identity(parts);
  for (BatchPart& part : parts) {
    if (!part.outcome.ok()) continue;
    part.outcome->tensors.resize(part.agreed.tensors.size());
  }
  return for_each_dtype(parts, [&](DType dtype) -> absl::Status {
    const Reduction reduction = reduction_of(request, dtype, participants);
    scratch.clear();
    HVD_RETURN_IF_ERROR(
        for_each_of(dtype, parts, [&](BatchPart& part, std::size_t i) {
          return add_scattered(calls, part, i, scratch);
        }));
    const absl::Status status = calls.make(
        request.device, scratch.bytes, [&](auto& plane, const auto& call) {
          return plane.reducescatter(scratch.pieces, scratch.counts, reduction,
                                     call);
        });
    scratch.memory.clear();
    return status;
  });
}

}  // namespace hvd::runtime
