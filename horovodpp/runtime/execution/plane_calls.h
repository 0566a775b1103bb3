// SPDX-License-Identifier: Apache-2.0
// The PlaneCalls of one batch: selects the plane of each call and numbers it,
// the same on all ranks.
//
//   calls.make(device, bytes, [&](DataPlane& plane, Call call) {
//     return plane.barrier(call);
//   });
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "horovodpp/collective/call_checks.h"
#include "horovodpp/collective/data_plane.h"
#include "horovodpp/coordinator/protocol/batch.h"
#include "horovodpp/coordinator/protocol/submission.h"
#include "horovodpp/core/device.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/trace/recorder.h"
#include "horovodpp/runtime/execution/planes.h"
#include "horovodpp/transport/communicator.h"
#include "horovodpp/transport/waiting.h"

namespace hvd::runtime {

// Each batch has a range of numbers for its calls; ranges do not overlap. A
// call may use several numbers.
inline constexpr int kCallBits = 14;
inline constexpr std::size_t kMaxTags = std::size_t{1} << kCallBits;
inline constexpr std::size_t kMaxCalls = kMaxTags / 4;

inline transport::DataTag tag_of(const coordinator::Batch& batch,
                                 std::uint64_t call) {
  return {batch.epoch,
          static_cast<std::uint32_t>(batch.sequence << kCallBits | call)};
}

// The number of a batch in the trace, equal on all ranks.
inline std::uint64_t traced_number(const coordinator::Batch& batch) {
  return trace::pack(batch.epoch, batch.sequence & 0xffffffff);
}

class PlaneCalls {
 public:
  // The arguments outlive this object. `recorder` nullptr: calls are not
  // recorded.
  PlaneCalls(Planes::Set& set, const coordinator::Batch& batch,
             transport::Interrupt& interrupt,
             trace::Recorder* recorder = nullptr)
      : set_(set), batch_(batch), interrupt_(interrupt), recorder_(recorder) {}

  const Planes::Set& set() const { return set_; }
  std::size_t ranks() const { return set_.members.size(); }
  std::size_t position() const {
    return static_cast<std::size_t>(set_.position);
  }

  // Makes all later calls follow the work before `submission`, if that is on a
  // GPU. `submission` outlives this object.
  void follow(const coordinator::Submission& submission) {
    if (submission.after == nullptr) return;
    after_.push_back(submission.after.get());
    const Device& gpu = submission.request.device;
    is_on_one_gpu_ = after_.size() == 1 || (is_on_one_gpu_ && here_ == gpu);
    here_ = gpu;
  }

  // Takes the work that goes on on a GPU after the calls have returned;
  // nullptr: none.
  std::shared_ptr<device::GpuWork> take_work() { return std::move(work_); }

  // Makes the next call, of `bytes` in the memory of `device`; both are equal
  // on all ranks. `op` is an allreduce's operation.
  //   (errors)  the selector's and the plane's. Cancelled: the batch is
  //             abandoned, and nothing has happened
  template <typename F>
  absl::Status make(const Device& device, std::size_t bytes, F&& f,
                    ReduceOp op = ReduceOp::kSum) {
    HVD_ASSIGN_OR_RETURN(collective::DataPlane * plane,
                         set_.selector.select(device, bytes, op));
    const bool captured = batch_.request().captured && !device.is_cpu();
    // Meet first: a refused batch must not come again.
    if (captured) HVD_RETURN_IF_ERROR(meet());
    if (captured && !plane->captures()) {
      return collective::cannot_be_captured(
          "only tensors that go by NCCL can be captured, between ranks that "
          "have used NCCL before; make a step before the capture "
          "(HOROVOD_LOG_LEVEL=debug logs the planes)");
    }
    if (!device.is_cpu() && all_take_part() && plane->needs_introduction()) {
      HVD_RETURN_IF_ERROR(number(1, [&](const collective::Call& call) {
        return plane->introduce(here_, call);
      }));
    }
    begin(*plane, bytes);
    const absl::Status status =
        number(plane->tags_of(bytes), [&](collective::Call call) {
          call.captured = captured;
          return f(*plane, call);
        });
    end(status);
    return status;
  }

  // Memory that the plane prefers for a result of this rank; nullptr: any
  // memory will do.
  std::shared_ptr<std::byte> result_memory(
      const Device& device, const collective::DataPlane::ResultSize& size) {
    const auto plane = set_.selector.select(device, size.all);
    return plane.ok() ? (*plane)->result_memory(size) : nullptr;
  }

  // Whether a broadcast of `bytes` needs no meet() before it.
  bool meets_in_broadcast(const Device& device, std::size_t bytes) const {
    const auto plane = set_.selector.select(device, bytes);
    return plane.ok() && bytes > 0 && (*plane)->meets_in_broadcast();
  }

  // Returns once every member is known to take part. Call it before a call that
  // a member may leave before another member has entered it.
  absl::Status meet() {
    if (batch_.certain || made_ > 0) return absl::OkStatus();
    return make(Device(), 0, [](collective::DataPlane& plane, auto call) {
      return plane.barrier(call);
    });
  }

 private:
  bool all_take_part() const { return batch_.participants == set_.size(); }

  // The GPU that holds all tensors submitted here, if they lie on one. The
  // submission has asked CUDA.
  std::optional<int> gpu() const {
    const bool is_known = all_take_part() && is_on_one_gpu_;
    return is_known ? std::optional<int>(here_.index) : std::nullopt;
  }

  void begin(const collective::DataPlane& plane, std::size_t bytes) {
    if (recorder_ == nullptr) return;
    recorder_->write(
        trace::EventKind::kCallBegins,
        {.label = set_.traced_label(plane, *recorder_), .value = bytes});
  }
  void end(const absl::Status& status) {
    if (recorder_ == nullptr) return;
    recorder_->write(
        trace::EventKind::kCallEnds,
        {.detail = static_cast<std::uint8_t>(status.ok() ? 0 : 1)});
  }

  // Makes a call that uses `used` tags.
  template <typename F>
  absl::Status number(std::uint64_t used, F f) {
    if (tags_ + used > kMaxTags) {
      return absl::InternalError("a batch needs too many calls");
    }
    const absl::Status status =
        f(collective::Call{.tag = tag_of(batch_, tags_),
                           .interrupt = interrupt_,
                           .certain = batch_.certain || made_ > 0,
                           .after = after_,
                           .all_take_part = all_take_part(),
                           .gpu = gpu(),
                           .work = &work_});
    // The first call returned only after every member had entered it.
    if (absl::IsCancelled(status) && made_ > 0) {
      return absl::InternalError(absl::StrCat(
          "a batch was abandoned after every member had entered it: ",
          status.message()));
    }
    ++made_;
    tags_ += used;
    return status;
  }

  Planes::Set& set_;
  const coordinator::Batch& batch_;
  transport::Interrupt& interrupt_;
  trace::Recorder* const recorder_;
  std::uint64_t made_ = 0;
  std::uint64_t tags_ = 0;  // Used by the calls so far.
  std::vector<const device::CudaEvent*> after_;
  Device here_;  // This rank's GPU, if its tensors are on one.
  bool is_on_one_gpu_ = false;
  std::shared_ptr<device::GpuWork> work_;
};

}  // namespace hvd::runtime
