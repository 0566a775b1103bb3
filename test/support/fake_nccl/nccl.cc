// SPDX-License-Identifier: Apache-2.0
// The functions of NCCL that horovodpp uses (horovodpp/collective/nccl/api.h),
// between GPUs that do not exist. Arguments are checked more strictly than NCCL
// does. This file has the collectives and the reduction ops.
#include <cstring>
#include <mutex>

#include "horovodpp/core/half.h"
#include "test/support/fake_nccl/communicator.h"
#include "test/support/fake_nccl/launch.h"
#include "test/support/fake_nccl/windows.h"

namespace fake_nccl {
namespace {

using namespace hvd::collective;  // NOLINT: NCCL's numbers.

// Resolves all memory of an operation, which must be on the communicator's GPU.
template <typename Pointer>
bool touch(Pointer& memory, std::size_t bytes, int device) {
  if (bytes == 0) return true;
  int found = -1;
  void* const place = of_cuda<decltype(fake_cuda_touch)>("fake_cuda_touch")(
      memory, bytes, &found);
  memory = static_cast<Pointer>(place);
  return place != nullptr && found == device;
}

// The memory that a call reads and writes.
struct Memory {
  const void* from;
  void* to;
};

NcclResult put(Operation operation, const Memory& memory, NcclComm comm,
               CuStream stream) {
  if (!is_usable(comm)) return refuse();
  operation.from = static_cast<const std::byte*>(memory.from);
  operation.to = static_cast<std::byte*>(memory.to);
  const Connection& connection = *comm->connection;
  const std::size_t bytes = operation.count * size_of(operation.type);
  const auto ranks = static_cast<std::size_t>(connection.ranks);
  const bool is_root = operation.peer == connection.rank;
  std::size_t from = bytes;
  std::size_t to = bytes;
  switch (operation.kind) {
    case Kind::kReduceScatter:
      from *= ranks;
      break;
    case Kind::kAllGather:
      to *= ranks;
      break;
    case Kind::kBroadcast:
      if (!is_root) from = 0;
      break;
    case Kind::kReduce:
      if (!is_root) to = 0;
      break;
    case Kind::kSend:
      to = 0;
      break;
    case Kind::kRecv:
      from = 0;
      break;
    default:
      break;
  }
  if (operation.peer < 0 || operation.peer >= connection.ranks ||
      !touch(operation.from, from, connection.device) ||
      !touch(operation.to, to, connection.device)) {
    return refuse();
  }
  if (operation.op >= kFirstOpOfUsers) {
    const auto found = comm->factors.find(operation.op);
    if (found == comm->factors.end()) return refuse();
    operation.factor = found->second;
    operation.op = kNcclSum;
  }
  const bool all_read = operation.kind != Kind::kBroadcast;
  const bool all_write = operation.kind != Kind::kReduce;
  if (all_read) operation.place = 3 * place_of(comm, memory.from);
  if (all_write) operation.place += place_of(comm, memory.to);
  return add_to_group(comm, stream, operation);
}

}  // namespace
}  // namespace fake_nccl

using namespace fake_nccl;  // NOLINT: C follows.

extern "C" {

NcclResult ncclRedOpCreatePreMulSum(NcclOp* op, void* scalar, NcclDType type,
                                    int, NcclComm comm) {
  if (!is_usable(comm)) return kNcclInvalidUsage;
  double factor = 0;
  if (type == kNcclFloat64) {
    std::memcpy(&factor, scalar, sizeof(factor));
  } else if (type == kNcclFloat32) {
    float value = 0;
    std::memcpy(&value, scalar, sizeof(value));
    factor = value;
  } else if (type == kNcclFloat16) {
    hvd::f16 value;
    std::memcpy(&value, scalar, sizeof(value));
    factor = static_cast<float>(value);
  } else if (type == kNcclBfloat16) {
    hvd::bf16 value;
    std::memcpy(&value, scalar, sizeof(value));
    factor = static_cast<float>(value);
  } else {
    return kNcclInvalidArgument;
  }
  *op = comm->next_op++;
  const std::lock_guard lock(world().mutex);
  comm->factors[*op] = factor;
  return kNcclSuccess;
}

NcclResult ncclRedOpDestroy(NcclOp op, NcclComm comm) {
  if (!exists(comm)) return kNcclInvalidArgument;
  const std::lock_guard lock(world().mutex);
  return comm->factors.erase(op) > 0 ? kNcclSuccess : kNcclInvalidArgument;
}

NcclResult ncclAllReduce(const void* from, void* to, std::size_t count,
                         NcclDType type, NcclOp op, NcclComm comm,
                         CuStream stream) {
  return put({.kind = Kind::kAllReduce, .count = count, .type = type, .op = op},
             {from, to}, comm, stream);
}

NcclResult ncclReduce(const void* from, void* to, std::size_t count,
                      NcclDType type, NcclOp op, int root, NcclComm comm,
                      CuStream stream) {
  return put({.kind = Kind::kReduce,
              .count = count,
              .type = type,
              .op = op,
              .peer = root},
             {from, to}, comm, stream);
}

NcclResult ncclReduceScatter(const void* from, void* to, std::size_t count,
                             NcclDType type, NcclOp op, NcclComm comm,
                             CuStream stream) {
  return put(
      {.kind = Kind::kReduceScatter, .count = count, .type = type, .op = op},
      {from, to}, comm, stream);
}

NcclResult ncclBroadcast(const void* from, void* to, std::size_t count,
                         NcclDType type, int root, NcclComm comm,
                         CuStream stream) {
  return put(
      {.kind = Kind::kBroadcast, .count = count, .type = type, .peer = root},
      {from, to}, comm, stream);
}

NcclResult ncclAllGather(const void* from, void* to, std::size_t count,
                         NcclDType type, NcclComm comm, CuStream stream) {
  return put({.kind = Kind::kAllGather, .count = count, .type = type},
             {from, to}, comm, stream);
}

NcclResult ncclSend(const void* from, std::size_t count, NcclDType type,
                    int peer, NcclComm comm, CuStream stream) {
  return put({.kind = Kind::kSend, .count = count, .type = type, .peer = peer},
             {from, nullptr}, comm, stream);
}

NcclResult ncclRecv(void* to, std::size_t count, NcclDType type, int peer,
                    NcclComm comm, CuStream stream) {
  return put({.kind = Kind::kRecv, .count = count, .type = type, .peer = peer},
             {nullptr, to}, comm, stream);
}

}  // extern "C"
