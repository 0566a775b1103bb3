// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/execution/non_reducing.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"
#include "horovodpp/runtime/execution/gpu_tensors.h"

namespace hvd::runtime {

using coordinator::TensorSpec;

namespace {

using Numbers = std::vector<std::int64_t>;
using Sizes = std::vector<std::size_t>;

// The numbers that the ranks exchange: a row of equal length from each rank.
struct Table {
  Numbers numbers;
  std::size_t width;

  std::int64_t at(std::size_t rank, std::size_t column) const {
    return numbers[rank * width + column];
  }
  Numbers column(std::size_t index) const {
    Numbers column;
    for (std::size_t i = index; i < numbers.size(); i += width) {
      column.push_back(numbers[i]);
    }
    return column;
  }
};

// Exchanges `mine`, which are counts of rows, with every rank.
absl::StatusOr<Table> share_numbers(PlaneCalls& calls, const Numbers& mine) {
  Table all{.numbers = Numbers(mine.size() * calls.ranks()),
            .width = mine.size()};
  const std::span<const std::byte> line = std::as_bytes(std::span(mine));
  const Sizes each(calls.ranks(), line.size());
  HVD_RETURN_IF_ERROR(calls.make(
      Device(), line.size() * calls.ranks(),
      [&](auto& plane, const auto& call) {
        return plane.allgather(
            line, each, reinterpret_cast<std::byte*>(all.numbers.data()), call);
      }));
  for (std::size_t i = 0; i < all.numbers.size(); ++i) {
    if (all.numbers[i] >= 0) continue;
    return absl::InternalError(
        absl::StrCat("rank ", calls.set().members[i / all.width], " announces ",
                     all.numbers[i], " rows of a tensor"));
  }
  return all;
}

std::size_t row_bytes(const TensorSpec& tensor) {
  return static_cast<std::size_t>(tensor.shape.tail().num_elements()) *
         size_of(tensor.dtype);
}

Sizes bytes_of(const Numbers& rows, const TensorSpec& tensor) {
  Sizes bytes;
  for (const std::int64_t r : rows) {
    bytes.push_back(static_cast<std::size_t>(r) * row_bytes(tensor));
  }
  return bytes;
}

std::size_t sum(const Sizes& sizes) {
  std::size_t total = 0;
  for (const std::size_t size : sizes) total += size;
  return total;
}

// The shape of these rows concatenated.
absl::StatusOr<Shape> stacked(const BatchPart& part, const TensorSpec& tensor,
                              const Numbers& rows) {
  const std::string what = absl::StrCat(name_of(part.agreed.kind), " of ",
                                        part.agreed.key.to_string());
  std::vector<std::int64_t> dims(tensor.shape.dims().begin(),
                                 tensor.shape.dims().end());
  dims[0] = 0;
  for (const std::int64_t r : rows) {
    if (r > std::numeric_limits<std::int64_t>::max() - dims[0]) {
      return absl::InvalidArgumentError(absl::StrCat(
          what,
          ": the rows of all ranks together are more than 2^63; send fewer"));
    }
    dims[0] += r;
  }
  const Shape shape(dims);
  HVD_RETURN_IF_ERROR(annotate(shape.checked(size_of(tensor.dtype)), what));
  return shape;
}

// Whether all ranks' rows fit into one tensor; if not, the part gets the error,
// the same on every rank.
bool fits(BatchPart& part, const TensorSpec& tensor, const Numbers& rows) {
  const absl::StatusOr<Shape> shape = stacked(part, tensor, rows);
  if (!shape.ok()) part.outcome = shape.status();
  return shape.ok();
}

std::span<const std::byte> bytes_of(const ConstTensorView& tensor) {
  return {static_cast<const std::byte*>(tensor.data()), tensor.bytes()};
}

// The destination of a result's rows.
struct Place {
  std::byte* memory = nullptr;
  // Set if the caller gave no memory.
  std::optional<Buffer> own = std::nullopt;
  // Set if the rows do not fit the caller's memory.
  absl::Status error = absl::OkStatus();
};

// The device of this rank's results; the host if it has joined.
Device device_of(const BatchPart& part) {
  return part.mine == nullptr ? Device::cpu() : part.mine->request.device;
}

absl::StatusOr<Buffer> new_result(PlaneCalls& calls, const BatchPart& part,
                                  const ConstTensorView& like,
                                  std::size_t bytes_of_all) {
  auto memory = calls.result_memory(
      part.agreed.device, {.mine = like.bytes(), .all = bytes_of_all});
  if (memory == nullptr) {
    return allocate_result(like.dtype(), like.shape(), device_of(part));
  }
  return Buffer::over(std::move(memory), like.dtype(), like.shape());
}

// Uses the caller's memory, if given. If the result does not fit it, this rank
// alone gets an error, but takes part. `bytes_of_all` is the size of all ranks'
// results together.
absl::StatusOr<Place> place_of(PlaneCalls& calls, const BatchPart& part,
                               std::size_t index, const Numbers& rows,
                               std::size_t bytes_of_all) {
  const TensorSpec& tensor = part.agreed.tensors[index];
  HVD_ASSIGN_OR_RETURN(Shape shape, stacked(part, tensor, rows));
  Place place;
  if (part.mine != nullptr && !part.mine->outputs.empty()) {
    const TensorView& output = part.mine->outputs[index];
    place.memory = static_cast<std::byte*>(output.data());
    if (output.shape() == shape) return place;
    place.error = absl::InvalidArgumentError(absl::StrCat(
        name_of(part.agreed.kind), " of ", part.agreed.key.to_string(),
        ": the result is ", name_of(tensor.dtype), shape.to_string(),
        ", and its memory is for ", output.to_string(),
        "; give it that shape"));
  }
  HVD_ASSIGN_OR_RETURN(
      place.own,
      new_result(calls, part, {nullptr, tensor.dtype, std::move(shape)},
                 bytes_of_all));
  place.memory = static_cast<std::byte*>(place.own->view().data());
  return place;
}

void fill_in(BatchPart& part, Place place) {
  if (!place.error.ok()) {
    part.outcome = place.error;
  } else if (place.own && part.outcome.ok()) {
    part.outcome->tensors.push_back(*std::move(place.own));
  }
}

absl::Status gather_tensor(PlaneCalls& calls, BatchPart& part,
                           std::size_t index, const Numbers& rows) {
  const TensorSpec& tensor = part.agreed.tensors[index];
  const Sizes bytes = bytes_of(rows, tensor);
  HVD_ASSIGN_OR_RETURN(Place place, place_of(calls, part, index, rows,
                                             sum(bytes) * calls.ranks()));
  std::span<const std::byte> input;
  if (part.mine != nullptr) input = bytes_of(part.mine->inputs[index]);
  HVD_RETURN_IF_ERROR(calls.make(
      part.agreed.device, sum(bytes), [&](auto& plane, const auto& call) {
        return plane.allgather(input, bytes, place.memory, call);
      }));
  fill_in(part, std::move(place));
  return absl::OkStatus();
}

// Whether the ranks of an operation on one tensor may assume that all bring as
// many rows as they do. The same on all ranks.
absl::StatusOr<bool> may_be_alike(PlaneCalls& calls, const BatchPart& part) {
  if (!part.agreed.device.is_cpu() ||
      row_bytes(part.agreed.tensors.front()) == 0) {
    return false;
  }
  HVD_ASSIGN_OR_RETURN(collective::DataPlane * plane,
                       calls.set().selector.select(Device(), 0));
  return plane->gathers_alike();
}

// Tries to gather one tensor with equally many rows on each rank. Returns
// nullopt on success, else the number of rows of each rank.
absl::StatusOr<std::optional<Numbers>> gather_if_alike(PlaneCalls& calls,
                                                       BatchPart& part) {
  const TensorSpec& tensor = part.agreed.tensors.front();
  std::span<const std::byte> input;
  // Stays without memory also if so many rows cannot be allocated.
  Place place;
  if (part.mine != nullptr) {
    const ConstTensorView& mine = part.mine->inputs.front();
    input = bytes_of(mine);
    const Numbers supposed(calls.ranks(), mine.shape()[0]);
    const std::size_t all = input.size() * calls.ranks();
    auto found = place_of(calls, part, 0, supposed, all * calls.ranks());
    if (found.ok()) place = *std::move(found);
  }
  Sizes sizes(calls.ranks());
  bool is_done = false;
  HVD_RETURN_IF_ERROR(calls.make(
      Device(), 0, [&](auto& plane, const auto& call) -> absl::Status {
        HVD_ASSIGN_OR_RETURN(
            is_done, plane.allgather_alike(input, sizes, place.memory, call));
        return absl::OkStatus();
      }));
  if (is_done) {
    fill_in(part, std::move(place));
    return std::nullopt;
  }
  Numbers rows;
  for (const std::size_t size : sizes) {
    rows.push_back(static_cast<std::int64_t>(size / row_bytes(tensor)));
  }
  return rows;
}

// Tries an alltoall in which each rank gets as many rows as it sends. Returns
// nullopt on success, else the number of rows from each rank to each.
absl::StatusOr<std::optional<Table>> exchange_if_alike(PlaneCalls& calls,
                                                       BatchPart& part) {
  const TensorSpec& tensor = part.agreed.tensors.front();
  const std::size_t ranks = calls.ranks();
  const Sizes send = bytes_of(part.mine->splits, tensor);
  const auto input = bytes_of(part.mine->inputs.front()).first(sum(send));
  Place place;
  auto found =
      place_of(calls, part, 0, part.mine->splits, input.size() * ranks);
  if (found.ok()) place = *std::move(found);
  Sizes sizes(ranks * ranks);
  std::copy(send.begin(), send.end(),
            std::span(sizes).subspan(calls.position() * ranks).begin());
  bool is_done = false;
  HVD_RETURN_IF_ERROR(calls.make(
      Device(), 0, [&](auto& plane, const auto& call) -> absl::Status {
        HVD_ASSIGN_OR_RETURN(
            is_done, plane.alltoall_alike(input, sizes, place.memory, call));
        return absl::OkStatus();
      }));
  if (is_done) {
    fill_in(part, std::move(place));
    if (part.outcome.ok()) part.outcome->received_splits = part.mine->splits;
    return std::nullopt;
  }
  Table rows{.numbers = {}, .width = ranks};
  for (const std::size_t size : sizes) {
    rows.numbers.push_back(static_cast<std::int64_t>(size / row_bytes(tensor)));
  }
  return rows;
}

absl::Status alltoall(PlaneCalls& calls, BatchPart& part) {
  const TensorSpec& tensor = part.agreed.tensors.front();
  const coordinator::Description& operation = describe(part.agreed.kind);
  if (part.mine == nullptr &&
      operation.joined == coordinator::IfJoined::kRefused) {
    return absl::InternalError(absl::StrCat(part.agreed.key.to_string(),
                                            " is an ", operation.name,
                                            ", and this rank has joined"));
  }
  bool alike = false;
  if (!operation.has_root()) {
    HVD_ASSIGN_OR_RETURN(alike, may_be_alike(calls, part));
  }
  // A rank that has joined sends nothing.
  const Numbers splits =
      part.mine == nullptr ? Numbers(calls.ranks()) : part.mine->splits;
  std::optional<Table> shared;
  if (alike) {
    HVD_ASSIGN_OR_RETURN(shared, exchange_if_alike(calls, part));
    if (!shared) return absl::OkStatus();
  } else {
    HVD_ASSIGN_OR_RETURN(shared, share_numbers(calls, splits));
  }
  const Table& rows = *shared;
  for (std::size_t r = 0; r < calls.ranks(); ++r) {
    if (!fits(part, tensor, rows.column(r))) return absl::OkStatus();
  }
  Numbers received = rows.column(calls.position());
  const std::size_t all = sum(bytes_of(rows.numbers, tensor));
  HVD_ASSIGN_OR_RETURN(Place place, place_of(calls, part, 0, received, all));
  const Sizes send = bytes_of(splits, tensor);
  const Sizes receive = bytes_of(received, tensor);
  // Rows beyond the splits are not sent.
  std::span<const std::byte> input;
  if (part.mine != nullptr) {
    input = bytes_of(part.mine->inputs.front()).first(sum(send));
  }
  HVD_RETURN_IF_ERROR(
      calls.make(part.agreed.device, all, [&](auto& plane, const auto& call) {
        return plane.alltoall(input, send, place.memory, receive, call);
      }));
  fill_in(part, std::move(place));
  if (part.outcome.ok()) part.outcome->received_splits = std::move(received);
  return absl::OkStatus();
}

}  // namespace

absl::Status execute_allgather(PlaneCalls& calls,
                               std::vector<BatchPart>& parts) {
  const bool is_one =
      parts.size() == 1 && parts.front().agreed.tensors.size() == 1;
  bool alike = false;
  if (is_one) {
    HVD_ASSIGN_OR_RETURN(alike, may_be_alike(calls, parts.front()));
  }
  if (alike) {
    HVD_ASSIGN_OR_RETURN(const std::optional<Numbers> rows,
                         gather_if_alike(calls, parts.front()));
    const bool is_left =
        rows &&
        fits(parts.front(), parts.front().agreed.tensors.front(), *rows);
    return is_left ? gather_tensor(calls, parts.front(), 0, *rows)
                   : absl::OkStatus();
  }
  Numbers mine;
  for (const BatchPart& part : parts) {
    for (std::size_t i = 0; i < part.agreed.tensors.size(); ++i) {
      mine.push_back(part.mine == nullptr ? 0
                                          : part.mine->inputs[i].shape()[0]);
    }
  }
  HVD_ASSIGN_OR_RETURN(const Table rows, share_numbers(calls, mine));
  std::size_t first = 0;
  for (BatchPart& part : parts) {
    const coordinator::TensorSpecs& tensors = part.agreed.tensors;
    bool all_fit = true;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      all_fit = all_fit && fits(part, tensors[i], rows.column(first + i));
    }
    for (std::size_t i = 0; all_fit && i < tensors.size(); ++i) {
      HVD_RETURN_IF_ERROR(
          gather_tensor(calls, part, i, rows.column(first + i)));
    }
    first += tensors.size();
  }
  return absl::OkStatus();
}

absl::Status execute_broadcast(PlaneCalls& calls,
                               std::vector<BatchPart>& parts) {
  for (BatchPart& part : parts) {
    const TensorSpec& tensor = part.agreed.tensors.front();
    if (!calls.meets_in_broadcast(part.agreed.device, tensor.bytes())) {
      HVD_RETURN_IF_ERROR(calls.meet());
    }
    const int root = calls.set().position_of(part.agreed.root);
    const bool is_root = root == calls.set().position;
    if (root < 0 || (is_root && part.mine == nullptr)) {
      return absl::InternalError(
          absl::StrCat("rank ", part.agreed.root, " has nothing to broadcast ",
                       part.agreed.key.to_string(), " from"));
    }
    Buffer scratch;
    if (part.mine == nullptr) {
      HVD_ASSIGN_OR_RETURN(scratch,
                           Buffer::allocate(tensor.dtype, tensor.shape));
    }
    const void* input = is_root ? part.mine->inputs.front().data() : nullptr;
    void* output = part.mine != nullptr ? part.mine->outputs.front().data()
                                        : scratch.view().data();
    HVD_RETURN_IF_ERROR(calls.make(
        part.agreed.device, tensor.bytes(), [&](auto& plane, const auto& call) {
          return plane.broadcast(static_cast<const std::byte*>(input),
                                 static_cast<std::byte*>(output),
                                 tensor.bytes(), root, call);
        }));
  }
  return absl::OkStatus();
}

absl::Status execute_alltoall(PlaneCalls& calls,
                              std::vector<BatchPart>& parts) {
  for (BatchPart& part : parts) {
    HVD_RETURN_IF_ERROR(alltoall(calls, part));
  }
  return absl::OkStatus();
}

absl::Status execute_replay(PlaneCalls& calls,
                            const std::vector<BatchPart>& parts) {
  const coordinator::Submission* const mine = parts.front().mine;
  if (mine == nullptr || mine->graph == nullptr) {
    return absl::InternalError("a replay is to be made of no graph");
  }
  // Meet first: a refused replay must not come again.
  HVD_RETURN_IF_ERROR(calls.meet());
  return calls.make(mine->request.device, 0,
                    [&](auto& plane, const auto& call) {
                      return plane.replay(*mine->graph, call);
                    });
}

}  // namespace hvd::runtime
