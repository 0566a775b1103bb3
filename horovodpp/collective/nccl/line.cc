// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/nccl/line.h"

#include <chrono>
#include <cstring>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "horovodpp/core/half.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/system/at_exit.h"
#include "horovodpp/core/thread/clock.h"
#include "horovodpp/device/gpu_work.h"

namespace hvd::collective {
namespace {

// The pause between two polls, if NCCL takes longer than usual.
constexpr std::chrono::microseconds kPause(50);
constexpr int kLooksWithoutPause = 200;

// Polls `ready` until it returns true.
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

// The operations of a call in the stream: two events, and NCCL's own for a
// group.
constexpr std::size_t kOperationsOfCall = 8;

absl::StatusOr<device::CudaEvent> point_in(const device::CudaStream& stream) {
  return device::CudaEvent::after(stream.context(), stream.handle());
}

// A number as an element of NCCL's `type`.
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

NcclLine::~NcclLine() {
  if (communicator_ != nullptr) session_.watch().retire(communicator_);
}

void NcclLine::abort() {
  if (communicator_ == nullptr) return;
  communicator_->abort();
  communicator_->await_end(std::chrono::steady_clock::now() +
                           NcclCommunicator::kCloseTimeout);
}

std::string NcclLine::members() const {
  return absl::StrCat("[", absl::StrJoin(members_, ", "), "]");
}

absl::Status NcclLine::open(const NcclUniqueId& id, int gpu,
                            transport::Interrupt& interrupt) {
  HVD_ASSIGN_OR_RETURN(nccl_, session_.library().api());
  HVD_ASSIGN_OR_RETURN(device::CudaStream* const stream,
                       session_.stream_on(gpu));
  gpu_ = gpu;
  HVD_ASSIGN_OR_RETURN(
      communicator_,
      NcclCommunicator::begin(*nccl_, id,
                              {.rank = rank_,
                               .ranks = static_cast<int>(members_.size()),
                               .gpu = stream->context(),
                               .graphs = session_.graphs()}));
  HVD_RETURN_IF_ERROR(session_.watch().adopt(communicator_));
  HVD_RETURN_IF_ERROR(await_others(interrupt));
  renew_exit_order();
  return absl::OkStatus();
}

absl::Status NcclLine::await_others(transport::Interrupt& interrupt) {
  const auto timeout = session_.options().connect_timeout;
  const auto deadline = deadline_after(timeout);
  return annotate(until(
                      [&]() -> absl::StatusOr<bool> {
                        if (std::chrono::steady_clock::now() < deadline) {
                          return communicator_->is_ready();
                        }
                        return absl::DeadlineExceededError(absl::StrCat(
                            "it has not done so for ",
                            std::chrono::duration<double>(timeout).count(),
                            " s (HOROVOD_START_TIMEOUT); NCCL_DEBUG=INFO shows "
                            "the reason"));
                      },
                      interrupt),
                  absl::StrCat("NCCL does not connect ranks ", members()));
}

absl::Status NcclLine::register_windows(
    const std::vector<NcclArena::Block>& blocks,
    transport::Interrupt& interrupt) {
  for (const NcclArena::Block& block : blocks) {
    windows_.add(block.memory.get(), block.bytes);
  }
  HVD_RETURN_IF_ERROR(annotate(communicator_->register_windows(blocks),
                               "memory cannot be registered with NCCL"));
  return await_others(interrupt);
}

absl::StatusOr<device::CudaStream*> NcclLine::stream_of(const Call& call) {
  return call.captured ? session_.captured_stream_on(gpu_)
                       : session_.stream_on(gpu_);
}

// A captured call is not in the stream. The watch reports a stall.
absl::Status NcclLine::make_room(const device::CudaStream& stream,
                                 std::size_t operations, const Call& call) {
  if (call.captured) return absl::OkStatus();
  const auto wait = [&](const device::CudaEvent& event) {
    return until([&] { return event.has_completed(); }, call.interrupt);
  };
  return session_.throttle_on(gpu_).make(stream, operations, wait);
}

absl::Status NcclLine::put_group(device::CudaStream& stream,
                                 transport::Interrupt& interrupt, Group group) {
  HVD_RETURN_IF_ERROR(
      communicator_->put([&](const NcclApi& nccl, NcclComm comm) {
        return group({.nccl = nccl, .comm = comm, .stream = stream.handle()});
      }));
  // The group may not be in the stream before that.
  return until([&] { return communicator_->is_ready(); }, interrupt);
}

absl::Status NcclLine::put(const char* what, const Call& call, Group group) {
  return enqueue(what, call, [&](device::CudaStream& stream) {
    return put_group(stream, call.interrupt, group);
  });
}

absl::Status NcclLine::put_between(const char* what, const Call& call,
                                   const Around& around, Group group) {
  return enqueue(what, call, [&](device::CudaStream& stream) -> absl::Status {
    HVD_RETURN_IF_ERROR(make_room(stream, around.operations, call));
    HVD_RETURN_IF_ERROR(around.before(stream));
    const absl::Status put = put_group(stream, call.interrupt, group);
    // Always call it, because it may free memory.
    const absl::Status ended = around.after(stream);
    return put.ok() ? ended : put;
  });
}

absl::Status NcclLine::put_reduction(const char* what, const Call& call,
                                     const Factor& factor, Reducing group) {
  if (factor.value == 1) {
    return put(what, call,
               [&](const NcclInto& into) { return group(into, factor.op); });
  }
  Scalar scalar(factor.value, factor.type);
  HVD_ASSIGN_OR_RETURN(const NcclOp op, communicator_->multiplied_sum(
                                            scalar.bytes, factor.type));
  const absl::Status status =
      put(what, call, [&](const NcclInto& into) { return group(into, op); });
  communicator_->drop(op);
  return status;
}

absl::Status NcclLine::launch(const device::CudaGraph& graph,
                              const Call& call) {
  return enqueue("a captured step", call, [&](device::CudaStream& stream) {
    return graph.launch(stream);
  });
}

absl::Status NcclLine::enqueue(
    const char* what, const Call& call,
    absl::FunctionRef<absl::Status(device::CudaStream&)> put) {
  HVD_ASSIGN_OR_RETURN(device::CudaStream* const stream, stream_of(call));
  for (const device::CudaEvent* event : call.after) {
    HVD_RETURN_IF_ERROR(make_room(*stream, 1, call));
    HVD_RETURN_IF_ERROR(stream->wait_for(*event));
  }
  HVD_RETURN_IF_ERROR(make_room(*stream, kOperationsOfCall, call));
  const std::string name =
      absl::StrCat(what, " by NCCL between ranks ", members());
  HVD_ASSIGN_OR_RETURN(device::CudaEvent began, point_in(*stream));
  const absl::Status status = annotate(put(*stream), name);
  if (!status.ok()) communicator_->abort();
  HVD_ASSIGN_OR_RETURN(device::CudaEvent done, point_in(*stream));
  const auto work = std::make_shared<device::GpuWork>(
      device::GpuWork::Span{std::move(began), std::move(done)}, name,
      call.captured);
  // Work may be under way even if the call has failed.
  if (call.work != nullptr) *call.work = work;
  if (call.captured) {
    work->end(status);
    return status;
  }
  session_.watch().watch(work, communicator_);
  if (call.work != nullptr || !status.ok()) return status;
  return until([&] { return work->is_done(); }, call.interrupt);
}

}  // namespace hvd::collective
