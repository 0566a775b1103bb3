// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/protocol/request.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace hvd::coordinator {
namespace {

// How two ranks' requests differ, worded so that the difference shows, and a
// remedy.
struct Difference {
  std::string a;
  std::string b;
  std::string way_out;
};

bool same_shape(RequestKind kind, const Shape& a, const Shape& b) {
  if (!describe(kind).rows_differ()) return a == b;
  return a.rank() == b.rank() &&
         std::equal(a.dims().begin() + (a.rank() > 0), a.dims().end(),
                    b.dims().begin() + (b.rank() > 0));
}

std::optional<Difference> find_difference_of_tensors(const Request& a,
                                                     const Request& b) {
  if (a.tensors.size() != b.tensors.size()) {
    return Difference{absl::StrCat("a group of ", a.tensors.size()),
                      absl::StrCat("a group of ", b.tensors.size()),
                      "submit the same group"};
  }
  for (std::size_t i = 0; i < a.tensors.size(); ++i) {
    const TensorSpec& left = a.tensors[i];
    const TensorSpec& right = b.tensors[i];
    const bool same_dtype = left.dtype == right.dtype;
    if (same_dtype && same_shape(a.kind, left.shape, right.shape)) continue;
    const std::string which =
        a.tensors.size() == 1
            ? ""
            : absl::StrCat(" as tensor ", i, " of ", a.tensors.size());
    return Difference{left.to_string() + which, right.to_string() + which,
                      !same_dtype ? "submit the same dtype"
                      : describe(a.kind).rows_differ()
                          ? "only the first dimension may differ"
                          : "submit the same shape"};
  }
  return std::nullopt;
}

std::string scales_of(const Request& r) {
  return absl::StrCat("prescale ", r.prescale, " and postscale ", r.postscale);
}

std::string divisor_of(const Request& r) {
  return r.average_of_participants ? "an average over participants"
                                   : "an average over all ranks";
}

std::string in_graph_of(const Request& r) {
  return r.captured ? "a captured collective" : "an eager collective";
}

std::string ranks_of(const Request& r) {
  return absl::StrCat("ranks [", absl::StrJoin(r.ranks, ", "), "]");
}

std::optional<Difference> find_difference(const Request& a, const Request& b) {
  if (a.kind != b.kind) {
    return Difference{name_of(a.kind), name_of(b.kind),
                      "submit the same operation under this name"};
  }
  if (auto tensors = find_difference_of_tensors(a, b)) return tensors;
  if (a.op != b.op) {
    return Difference{absl::StrCat("op ", name_of(a.op)),
                      absl::StrCat("op ", name_of(b.op)), "use the same op"};
  }
  if (a.prescale != b.prescale || a.postscale != b.postscale) {
    return Difference{scales_of(a), scales_of(b), "use the same scale factors"};
  }
  if (a.average_of_participants != b.average_of_participants) {
    return Difference{divisor_of(a), divisor_of(b), "average over the same"};
  }
  if (a.root != b.root) {
    return Difference{absl::StrCat("root ", a.root),
                      absl::StrCat("root ", b.root), "name the same root"};
  }
  if (a.device.kind != b.device.kind) {
    return Difference{absl::StrCat("a tensor on ", a.device.to_string()),
                      absl::StrCat("a tensor on ", b.device.to_string()),
                      "use the same kind of device"};
  }
  if (a.captured != b.captured) {
    return Difference{in_graph_of(a), in_graph_of(b), "capture it"};
  }
  if (a.ranks != b.ranks) {
    return Difference{ranks_of(a), ranks_of(b), "name the same ranks"};
  }
  if (a.subject != b.subject) {
    return Difference{absl::StrCat("process set ", a.subject),
                      absl::StrCat("process set ", b.subject),
                      "name the same process set"};
  }
  return std::nullopt;
}

void encode(const TensorSpec& tensor, WireWriter& writer) {
  writer.u8(static_cast<std::uint8_t>(tensor.dtype));
  writer.u32(static_cast<std::uint32_t>(tensor.shape.rank()));
  for (std::int64_t dim : tensor.shape.dims()) writer.i64(dim);
}

TensorSpec decode_tensor(WireReader& reader) {
  TensorSpec tensor;
  const std::uint8_t number = reader.u8();
  const auto dtype = dtype_from_wire(number);
  if (!dtype) reader.fail(absl::StrCat("dtype ", static_cast<int>(number)));
  const std::uint32_t rank = reader.count(sizeof(std::int64_t));
  if (rank > kMaxDimensions) reader.fail(absl::StrCat(rank, " dimensions"));
  absl::InlinedVector<std::int64_t, 8> dims;
  for (std::uint32_t i = 0; i < rank && reader.ok(); ++i) {
    dims.push_back(reader.i64());
  }
  tensor.dtype = dtype.value_or(DType::kF32);
  tensor.shape = Shape(IntSpan(dims.data(), dims.size()));
  if (reader.ok() && !tensor.shape.checked(size_of(tensor.dtype)).ok()) {
    reader.fail(absl::StrCat("shape ", tensor.shape.to_string()));
  }
  return tensor;
}

// A scale factor. A non-finite factor is refused: such a request might not even
// equal itself.
double decode_scale(WireReader& reader) {
  const double scale = reader.f64();
  if (!std::isfinite(scale)) reader.fail(absl::StrCat("scale ", scale));
  return scale;
}

}  // namespace

std::string Key::to_string() const {
  if (process_set == kGlobalSet) return absl::StrCat("'", name, "'");
  return absl::StrCat("'", name, "' of process set ", process_set);
}

std::string TensorSpec::to_string() const {
  return name_of(dtype) + shape.to_string();
}

std::optional<std::string> find_mismatch(int rank_a, const Request& a,
                                         int rank_b, const Request& b) {
  const std::optional<Difference> difference = find_difference(a, b);
  if (!difference) return std::nullopt;
  return absl::StrCat("ranks disagree on ", a.key.to_string(), ": rank ",
                      rank_a, " sent ", difference->a, ", rank ", rank_b,
                      " sent ", difference->b, "; ", difference->way_out,
                      " on every rank");
}

bool differ_in_rows_at_most(const Request& a, const Request& b) {
  return !find_difference(a, b);
}

void encode(const Request& request, WireWriter& writer) {
  writer.u8(static_cast<std::uint8_t>(request.kind));
  writer.u32(request.key.process_set);
  writer.text(request.key.name);
  writer.u32(static_cast<std::uint32_t>(request.tensors.size()));
  for (const TensorSpec& tensor : request.tensors) encode(tensor, writer);
  writer.u8(static_cast<std::uint8_t>(request.device.kind));
  writer.u32(static_cast<std::uint32_t>(request.device.index));
  writer.u8(static_cast<std::uint8_t>(request.op));
  writer.f64(request.prescale);
  writer.f64(request.postscale);
  writer.flag(request.average_of_participants);
  writer.u32(static_cast<std::uint32_t>(request.root));
  writer.flag(request.once);
  writer.flag(request.captured);
  writer.u32(static_cast<std::uint32_t>(request.ranks.size()));
  for (int rank : request.ranks) writer.u32(static_cast<std::uint32_t>(rank));
  writer.u32(request.subject);
}

Request decode_request(WireReader& reader) {
  Request request;
  const std::uint8_t kind_number = reader.u8();
  const Description* const description = find_description(kind_number);
  if (description == nullptr) {
    reader.fail(absl::StrCat("operation ", static_cast<int>(kind_number)));
  }
  request.kind =
      description == nullptr ? RequestKind::kBarrier : description->kind;
  request.key.process_set = reader.u32();
  request.key.name = reader.text();
  constexpr std::size_t kMinTensorBytes = 5;
  const std::uint32_t tensors = reader.count(kMinTensorBytes);
  for (std::uint32_t i = 0; i < tensors && reader.ok(); ++i) {
    request.tensors.push_back(decode_tensor(reader));
  }
  const std::uint8_t device = reader.u8();
  if (device > static_cast<std::uint8_t>(DeviceKind::kCuda)) {
    reader.fail(absl::StrCat("kind of device ", static_cast<int>(device)));
  }
  request.device = {static_cast<DeviceKind>(device & 1u),
                    static_cast<int>(reader.u32())};
  const std::uint8_t op_number = reader.u8();
  const auto op = reduce_op_from_wire(op_number);
  if (!op) reader.fail(absl::StrCat("op ", static_cast<int>(op_number)));
  request.op = op.value_or(ReduceOp::kSum);
  request.prescale = decode_scale(reader);
  request.postscale = decode_scale(reader);
  request.average_of_participants = reader.flag();
  request.root = static_cast<int>(reader.u32());
  request.once = reader.flag();
  request.captured = reader.flag();
  const std::uint32_t ranks = reader.count(sizeof(std::uint32_t));
  for (std::uint32_t i = 0; i < ranks; ++i) {
    request.ranks.push_back(static_cast<int>(reader.u32()));
  }
  request.subject = reader.u32();
  return request;
}

}  // namespace hvd::coordinator
