// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/nccl/plane.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "horovodpp/collective/call_checks.h"
#include "horovodpp/core/deadline.h"
#include "horovodpp/core/half.h"
#include "horovodpp/core/status.h"
#include "horovodpp/device/gpu_work.h"

namespace hvd::collective {
namespace {

// Between two looks, where something takes longer than NCCL's usual answer.
constexpr std::chrono::microseconds kPause(50);
constexpr int kLooksWithoutPause = 200;

// Asks `ready` until it says so.
//   (errors)  its own, and the interrupt's
template <typename Ready>
absl::Status until(Ready ready, transport::Interrupt& interrupt) {
  for (int looks = 0;; ++looks) {
    HVD_ASSIGN_OR_RETURN(const bool is_ready, ready());
    if (is_ready) return absl::OkStatus();
    HVD_RETURN_IF_ERROR(interrupt.check());
    if (looks < kLooksWithoutPause) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kPause);
    }
  }
}

std::size_t offset_of(std::int64_t elements, const Reduction& reduction) {
  return static_cast<std::size_t>(elements) * size_of(reduction.dtype);
}

const std::byte* bytes_at(const void* memory, std::size_t offset) {
  return static_cast<const std::byte*>(memory) + offset;
}

// What a group of calls comes to. (That one is under way is no error.)
NcclResult with(NcclResult before, NcclResult next) {
  const bool was_well = before == kNcclSuccess || before == kNcclInProgress;
  return was_well ? next : before;
}

// As elements of NCCL's `type`.
struct Scalar {
  alignas(8) std::byte bytes[8] = {};

  Scalar(double value, NcclDType type) {
    const auto single = static_cast<float>(value);
    if (type == kNcclFloat64) put(value);
    if (type == kNcclFloat32) put(single);
    if (type == kNcclFloat16) put(f16(single));
    if (type == kNcclBfloat16) put(bf16(single));
  }
  template <typename T>
  void put(T value) {
    std::memcpy(bytes, &value, sizeof(T));
  }
};

}  // namespace

NcclPlane::~NcclPlane() {
  if (communicator_ != nullptr) means_.session.watch().retire(communicator_);
}

absl::Status NcclPlane::noted(const absl::Status& outcome) {
  if (outcome.ok() || absl::IsCancelled(outcome)) return outcome;
  failure_ = outcome;
  if (communicator_ != nullptr) communicator_->abort();
  return outcome;
}

absl::StatusOr<NcclIntroduction> NcclPlane::introduce_myself(
    const Device& mine) {
  NcclSession& session = means_.session;
  HVD_ASSIGN_OR_RETURN(const NcclApi* const nccl, session.library().api());
  HVD_ASSIGN_OR_RETURN(device::CudaDriver* const cuda, session.gpus().driver());
  NcclIntroduction me;
  me.is_able = 1;
  me.may_share = session.options().may_share_gpus ? 1 : 0;
  me.version = session.library().version();
  HVD_ASSIGN_OR_RETURN(me.gpu, cuda->uuid_of(mine.index));
  if (means_.rank == 0) {
    // One that is not used stays good.
    if (!id_) {
      NcclUniqueId id = {};
      HVD_RETURN_IF_ERROR(
          status_of(*nccl, nccl->ncclGetUniqueId(&id), "ncclGetUniqueId"));
      id_ = id;
    }
    me.id = *id_;
  }
  return me;
}

absl::Status NcclPlane::introduce(const Device& mine, Call call) {
  if (is_introduced_) return means_.otherwise.introduce(mine, call);
  absl::StatusOr<NcclIntroduction> me = introduce_myself(mine);
  if (!me.ok()) me = NcclIntroduction::refusal(me.status());
  std::vector<NcclIntroduction> all(means_.members.size());
  const std::vector<std::size_t> sizes(all.size(), sizeof(NcclIntroduction));
  HVD_RETURN_IF_ERROR(
      means_.host.allgather(std::as_bytes(std::span(&*me, 1)), sizes,
                            reinterpret_cast<std::byte*>(all.data()), call));
  is_introduced_ = true;
  const absl::Status possible = check_introductions(all, means_.members);
  if (!possible.ok()) {
    means_.session.options().tell(
        absl::StrCat("tensors on GPUs do not go by NCCL between ranks ",
                     describe_members(), ": ", possible.message()));
    return absl::OkStatus();
  }
  HVD_RETURN_IF_ERROR(noted(connect(all.front().id, mine, call)));
  means_.session.options().tell(absl::StrCat(
      "tensors on GPUs go by NCCL ", nccl_version_text(me->version),
      " between ranks ", describe_members(), ", of this rank on cuda:", gpu_));
  return absl::OkStatus();
}

std::string NcclPlane::describe_members() const {
  return absl::StrCat("[", absl::StrJoin(means_.members, ", "), "]");
}

absl::Status NcclPlane::connect(const NcclUniqueId& id, const Device& mine,
                                const Call& call) {
  NcclSession& session = means_.session;
  HVD_ASSIGN_OR_RETURN(nccl_, session.library().api());
  HVD_ASSIGN_OR_RETURN(stream_, session.stream_on(mine.index));
  gpu_ = mine.index;
  HVD_ASSIGN_OR_RETURN(
      communicator_,
      NcclCommunicator::begin(
          *nccl_, id,
          {.rank = means_.rank, .ranks = ranks(), .gpu = stream_->context()}));
  HVD_RETURN_IF_ERROR(session.watch().adopt(communicator_));
  const auto patience = session.options().connect_timeout;
  const auto deadline = deadline_after(patience);
  return annotate(
      until(
          [&]() -> absl::StatusOr<bool> {
            if (std::chrono::steady_clock::now() < deadline) {
              return communicator_->is_ready();
            }
            return absl::DeadlineExceededError(absl::StrCat(
                "it has not done so for ",
                std::chrono::duration<double>(patience).count(),
                " s (HOROVOD_START_TIMEOUT); NCCL_DEBUG=INFO shows what it "
                "waits for"));
          },
          call.interrupt),
      absl::StrCat("NCCL does not connect ranks ", describe_members()));
}

absl::Status NcclPlane::meet(const Call& call) {
  HVD_RETURN_IF_ERROR(failure_);
  if (call.certain) return absl::OkStatus();
  return noted(means_.host.barrier(call));
}

absl::Status NcclPlane::check_memory(const void* memory) const {
  HVD_ASSIGN_OR_RETURN(device::CudaDriver* const cuda,
                       means_.session.gpus().driver());
  HVD_ASSIGN_OR_RETURN(const int index, cuda->device_of(memory));
  if (index == gpu_) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "a tensor is on cuda:", index, ", and NCCL connects cuda:", gpu_,
      " of this rank to those of the others; keep the tensors of a process set "
      "on one GPU, or set HOROVOD_GPU_OPERATIONS=MPI"));
}

template <typename F>
absl::Status NcclPlane::enqueue(const char* what, const Call& call, F put) {
  for (const device::CudaEvent* event : call.after) {
    HVD_RETURN_IF_ERROR(stream_->wait_for(*event));
  }
  const std::string name =
      absl::StrCat(what, " by NCCL between ranks ", describe_members());
  HVD_ASSIGN_OR_RETURN(device::CudaEvent began, point_in_stream());
  absl::Status status = annotate(communicator_->put(put), name);
  // Until then it need not be in the stream.
  if (status.ok()) {
    status = until(
        [&]() -> absl::StatusOr<bool> {
          const absl::StatusOr<bool> ready = communicator_->is_ready();
          if (!ready.ok()) return annotate(ready.status(), name);
          return ready;
        },
        call.interrupt);
  }
  if (!status.ok()) communicator_->abort();
  HVD_ASSIGN_OR_RETURN(device::CudaEvent done, point_in_stream());
  const auto work = std::make_shared<device::GpuWork>(
      device::GpuWork::Span{std::move(began), std::move(done)}, name);
  means_.session.watch().watch(work, communicator_);
  // What there is of it may be under way even if it has failed.
  if (call.work != nullptr) {
    *call.work = work;
    return status;
  }
  HVD_RETURN_IF_ERROR(status);
  return until([&] { return work->is_done(); }, call.interrupt);
}

absl::StatusOr<device::CudaEvent> NcclPlane::point_in_stream() const {
  return device::CudaEvent::after(stream_->context(), stream_->handle());
}

template <typename F>
absl::Status NcclPlane::enqueue_reduction(const char* what,
                                          const NcclReduction& how,
                                          const Call& call, F put) {
  const auto enqueue_by = [&](NcclOp op) {
    return enqueue(what, call, [&](const NcclApi& nccl, NcclComm comm) {
      return put(nccl, comm, op);
    });
  };
  if (how.factor == 1) return noted(enqueue_by(how.op));
  Scalar factor(how.factor, how.type);
  const absl::StatusOr<NcclOp> op =
      communicator_->multiplied_sum(factor.bytes, how.type);
  if (!op.ok()) return noted(op.status());
  const absl::Status status = enqueue_by(*op);
  communicator_->drop(*op);
  return noted(status);
}

absl::Status NcclPlane::allreduce(std::span<const Piece> pieces,
                                  const Reduction& reduction, Call call) {
  HVD_RETURN_IF_ERROR(check(reduction));
  const auto how = nccl_reduction(reduction, ranks());
  if (!how || !goes_here(means_.session.options().use.allreduce, call)) {
    return means_.otherwise.allreduce(pieces, reduction, call);
  }
  HVD_RETURN_IF_ERROR(meet(call));
  if (total_count(pieces) == 0) return absl::OkStatus();
  for (const Piece& piece : pieces) {
    if (piece.count > 0) HVD_RETURN_IF_ERROR(check_memory(piece.output));
  }
  return enqueue_reduction(
      "an allreduce", *how, call,
      [&](const NcclApi& nccl, NcclComm comm, NcclOp op) {
        NcclResult result = kNcclSuccess;
        for (const Piece& piece : pieces) {
          if (piece.count == 0) continue;
          result = with(result, nccl.ncclAllReduce(
                                    piece.input, piece.output,
                                    static_cast<std::size_t>(piece.count),
                                    how->type, op, comm, stream_->handle()));
        }
        return result;
      });
}

absl::Status NcclPlane::reducescatter(std::span<const Piece> pieces,
                                      std::span<const std::int64_t> counts,
                                      const Reduction& reduction, Call call) {
  HVD_RETURN_IF_ERROR(check_scattered(reduction));
  HVD_RETURN_IF_ERROR(check_reducescatter(pieces, counts, ranks()));
  const auto how = nccl_reduction(reduction, ranks());
  if (!how || !goes_here(means_.session.options().use.reducescatter, call)) {
    return means_.otherwise.reducescatter(pieces, counts, reduction, call);
  }
  HVD_RETURN_IF_ERROR(meet(call));
  if (total_count(pieces) == 0) return absl::OkStatus();
  for (const Piece& piece : pieces) {
    if (piece.count > 0) HVD_RETURN_IF_ERROR(check_memory(piece.input));
  }
  return enqueue_reduction(
      "a reducescatter", *how, call,
      [&](const NcclApi& nccl, NcclComm comm, NcclOp op) {
        NcclResult result = kNcclSuccess;
        const auto n = static_cast<std::size_t>(ranks());
        for (std::size_t p = 0; p < pieces.size(); ++p) {
          const auto parts = counts.subspan(p * n, n);
          const bool is_even =
              std::equal(parts.begin() + 1, parts.end(), parts.begin());
          if (pieces[p].count == 0) continue;
          if (is_even) {
            result = with(result, nccl.ncclReduceScatter(
                                      pieces[p].input, pieces[p].output,
                                      static_cast<std::size_t>(parts[0]),
                                      how->type, op, comm, stream_->handle()));
            continue;
          }
          std::int64_t before = 0;
          for (int root = 0; root < ranks(); ++root) {
            const std::int64_t count = parts[static_cast<std::size_t>(root)];
            if (count == 0) continue;
            result = with(
                result,
                nccl.ncclReduce(
                    bytes_at(pieces[p].input, offset_of(before, reduction)),
                    pieces[p].output, static_cast<std::size_t>(count),
                    how->type, op, root, comm, stream_->handle()));
            before += count;
          }
        }
        return result;
      });
}

absl::Status NcclPlane::allgather(std::span<const std::byte> mine,
                                  std::span<const std::size_t> bytes_of_rank,
                                  std::byte* output, Call call) {
  HVD_RETURN_IF_ERROR(
      check_allgather(mine.size(), bytes_of_rank, means_.rank, ranks()));
  if (!goes_here(means_.session.options().use.allgather, call)) {
    return means_.otherwise.allgather(mine, bytes_of_rank, output, call);
  }
  HVD_RETURN_IF_ERROR(meet(call));
  const auto is_empty = [](std::size_t bytes) { return bytes == 0; };
  if (std::all_of(bytes_of_rank.begin(), bytes_of_rank.end(), is_empty)) {
    return absl::OkStatus();
  }
  HVD_RETURN_IF_ERROR(check_memory(output));
  const bool is_even = std::equal(bytes_of_rank.begin() + 1,
                                  bytes_of_rank.end(), bytes_of_rank.begin());
  return noted(
      enqueue("an allgather", call, [&](const NcclApi& nccl, NcclComm comm) {
        if (is_even) {
          return nccl.ncclAllGather(mine.data(), output, mine.size(),
                                    kNcclUint8, comm, stream_->handle());
        }
        NcclResult result = kNcclSuccess;
        std::byte* place = output;
        for (int root = 0; root < ranks(); ++root) {
          const std::size_t bytes =
              bytes_of_rank[static_cast<std::size_t>(root)];
          if (bytes == 0) continue;
          result = with(result,
                        nccl.ncclBroadcast(
                            root == means_.rank ? mine.data() : place, place,
                            bytes, kNcclUint8, root, comm, stream_->handle()));
          place += bytes;
        }
        return result;
      }));
}

absl::Status NcclPlane::broadcast(const std::byte* input, std::byte* output,
                                  std::size_t bytes, int root, Call call) {
  HVD_RETURN_IF_ERROR(check_broadcast(root, ranks()));
  if (!goes_here(means_.session.options().use.broadcast, call)) {
    return means_.otherwise.broadcast(input, output, bytes, root, call);
  }
  HVD_RETURN_IF_ERROR(meet(call));
  if (bytes == 0) return absl::OkStatus();
  HVD_RETURN_IF_ERROR(check_memory(output));
  return noted(
      enqueue("a broadcast", call, [&](const NcclApi& nccl, NcclComm comm) {
        return nccl.ncclBroadcast(root == means_.rank ? input : output, output,
                                  bytes, kNcclUint8, root, comm,
                                  stream_->handle());
      }));
}

// Members meet by telling each other what they send and expect: NCCL would not notice
// that the two differ.
absl::Status NcclPlane::check_sizes(std::span<const std::size_t> send_bytes,
                                    std::span<const std::size_t> receive_bytes,
                                    const Call& call) {
  HVD_RETURN_IF_ERROR(failure_);
  const std::size_t n = send_bytes.size();
  std::vector<std::size_t> mine(send_bytes.begin(), send_bytes.end());
  mine.insert(mine.end(), receive_bytes.begin(), receive_bytes.end());
  std::vector<std::size_t> all(2 * n * n);
  const std::vector<std::size_t> sizes(n, 2 * n * sizeof(std::size_t));
  HVD_RETURN_IF_ERROR(noted(
      means_.host.allgather(std::as_bytes(std::span(mine)), sizes,
                            reinterpret_cast<std::byte*>(all.data()), call)));
  for (std::size_t from = 0; from < n; ++from) {
    for (std::size_t to = 0; to < n; ++to) {
      const std::size_t sent = all[from * 2 * n + to];
      const std::size_t expected = all[to * 2 * n + n + from];
      if (sent == expected) continue;
      return noted(absl::InvalidArgumentError(
          absl::StrCat("alltoall: rank ", from, " sends rank ", to, " ", sent,
                       " bytes, which expects ", expected)));
    }
  }
  return absl::OkStatus();
}

absl::Status NcclPlane::alltoall(std::span<const std::byte> input,
                                 std::span<const std::size_t> send_bytes,
                                 std::byte* output,
                                 std::span<const std::size_t> receive_bytes,
                                 Call call) {
  HVD_RETURN_IF_ERROR(check_alltoall(input.size(), send_bytes, receive_bytes,
                                     means_.rank, ranks()));
  if (!goes_here(means_.session.options().use.alltoall, call)) {
    return means_.otherwise.alltoall(input, send_bytes, output, receive_bytes,
                                     call);
  }
  HVD_RETURN_IF_ERROR(check_sizes(send_bytes, receive_bytes, call));
  const auto is_empty = [](std::size_t bytes) { return bytes == 0; };
  if (input.empty() &&
      std::all_of(receive_bytes.begin(), receive_bytes.end(), is_empty)) {
    return absl::OkStatus();
  }
  HVD_RETURN_IF_ERROR(check_memory(input.empty() ? output : input.data()));
  return noted(
      enqueue("an alltoall", call, [&](const NcclApi& nccl, NcclComm comm) {
        NcclResult result = kNcclSuccess;
        const std::byte* from = input.data();
        std::byte* to = output;
        for (int peer = 0; peer < ranks(); ++peer) {
          const auto i = static_cast<std::size_t>(peer);
          if (send_bytes[i] > 0) {
            result = with(result, nccl.ncclSend(from, send_bytes[i], kNcclUint8,
                                                peer, comm, stream_->handle()));
          }
          if (receive_bytes[i] > 0) {
            result =
                with(result, nccl.ncclRecv(to, receive_bytes[i], kNcclUint8,
                                           peer, comm, stream_->handle()));
          }
          from += send_bytes[i];
          to += receive_bytes[i];
        }
        return result;
      }));
}

}  // namespace hvd::collective
