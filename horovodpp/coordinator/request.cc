#include "horovodpp/coordinator/request.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace hvd::coordinator {
namespace {

std::string tensor_text(const Request& request) {
  return name_of(request.dtype) + request.shape.to_string();
}

// What one rank sent, said so that the difference shows; and what to do about
// it.
struct Difference {
  std::string a;
  std::string b;
  std::string way_out;
};

bool same_shape(const Request& a, const Request& b) {
  if (a.kind != RequestKind::kAllgather) return a.shape == b.shape;
  return a.shape.rank() == b.shape.rank() && a.shape.tail() == b.shape.tail();
}

std::optional<Difference> find_difference(const Request& a, const Request& b) {
  if (a.kind != b.kind) {
    return Difference{name_of(a.kind), name_of(b.kind),
                      "submit the same operation under this name"};
  }
  if (a.dtype != b.dtype) {
    return Difference{tensor_text(a), tensor_text(b), "submit the same dtype"};
  }
  if (!same_shape(a, b)) {
    return Difference{tensor_text(a), tensor_text(b),
                      a.kind == RequestKind::kAllgather
                          ? "only the first dimension may differ"
                          : "submit the same shape"};
  }
  if (a.op != b.op) {
    return Difference{absl::StrCat("op ", name_of(a.op)),
                      absl::StrCat("op ", name_of(b.op)), "use the same op"};
  }
  if (a.prescale != b.prescale || a.postscale != b.postscale) {
    const auto scales = [](const Request& r) {
      return absl::StrCat("prescale ", r.prescale, " and postscale ",
                          r.postscale);
    };
    return Difference{scales(a), scales(b), "use the same scale factors"};
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
  return std::nullopt;
}

}  // namespace

std::string name_of(RequestKind kind) {
  switch (kind) {
    case RequestKind::kAllreduce:
      return "allreduce";
    case RequestKind::kAllgather:
      return "allgather";
    case RequestKind::kBroadcast:
      return "broadcast";
    case RequestKind::kBarrier:
      break;
  }
  return "barrier";
}

std::optional<std::string> find_mismatch(int rank_a, const Request& a,
                                         int rank_b, const Request& b) {
  const std::optional<Difference> difference = find_difference(a, b);
  if (!difference) return std::nullopt;
  return absl::StrCat("ranks disagree on '", a.name, "': rank ", rank_a,
                      " sent ", difference->a, ", rank ", rank_b, " sent ",
                      difference->b, "; ", difference->way_out,
                      " on every rank");
}

bool is_repetition(const Request& agreed, const Request& now) {
  return !find_difference(agreed, now);
}

void encode(const Request& request, WireWriter& writer) {
  writer.u8(static_cast<std::uint8_t>(request.kind));
  writer.text(request.name);
  writer.u8(static_cast<std::uint8_t>(request.dtype));
  writer.u32(static_cast<std::uint32_t>(request.shape.rank()));
  for (std::int64_t dim : request.shape.dims()) writer.i64(dim);
  writer.u8(static_cast<std::uint8_t>(request.device.kind));
  writer.u32(static_cast<std::uint32_t>(request.device.index));
  writer.u8(static_cast<std::uint8_t>(request.op));
  writer.f64(request.prescale);
  writer.f64(request.postscale);
  writer.u32(static_cast<std::uint32_t>(request.root));
  writer.u8(request.once ? 1 : 0);
}

Request decode_request(WireReader& reader) {
  Request request;
  const std::uint8_t kind = reader.u8();
  switch (kind) {
    case 0:
    case 1:
    case 2:
    case 6:
      request.kind = static_cast<RequestKind>(kind);
      break;
    default:
      reader.fail();
  }
  request.name = reader.text();
  if (const auto dtype = dtype_from_wire(reader.u8()))
    request.dtype = *dtype;
  else
    reader.fail();
  const std::uint32_t rank = reader.count(sizeof(std::int64_t));
  if (rank > kMaxDimensions) reader.fail();
  std::vector<std::int64_t> dims;
  for (std::uint32_t i = 0; i < rank && reader.ok(); ++i)
    dims.push_back(reader.i64());
  request.shape = Shape(std::move(dims));
  if (!request.shape.checked(size_of(request.dtype)).ok()) reader.fail();
  const std::uint8_t device = reader.u8();
  if (device > static_cast<std::uint8_t>(DeviceKind::kCuda)) reader.fail();
  request.device = {static_cast<DeviceKind>(device & 1u),
                    static_cast<int>(reader.u32())};
  if (const auto op = reduce_op_from_wire(reader.u8()))
    request.op = *op;
  else
    reader.fail();
  request.prescale = reader.f64();
  request.postscale = reader.f64();
  request.root = static_cast<int>(reader.u32());
  request.once = reader.u8() != 0;
  return request;
}

}  // namespace hvd::coordinator
