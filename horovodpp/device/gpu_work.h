// SPDX-License-Identifier: Apache-2.0
// A GpuWork is work that a call has enqueued on a stream without waiting for
// its end. Other streams can be ordered after it, and callbacks learn of its
// end.
//
//   auto work = std::make_shared<GpuWork>(GpuWork::Span{began, done}, "allreduce");
//   work->on_end([](const absl::Status& status) { ... });
//   ...
//   if (work->is_done().value_or(false)) work->end(absl::OkStatus());
//
// It does not poll for its end: its owner polls and calls end(). Thread-safe.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/core/thread/enqueued.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/device/cuda_stream.h"

namespace hvd::device {

class GpuWork : public Enqueued {
 public:
  // Events in the stream: all work before this is done; this work is done.
  struct Span {
    CudaEvent began;
    CudaEvent done;
  };
  // `what` names it in messages. Captured work is never polled.
  GpuWork(Span span, std::string what, bool captured = false)
      : span_(std::move(span)),
        what_(std::move(what)),
        is_captured_(captured) {}

  const std::string& what() const { return what_; }

  Status order(void* stream) const override;
  bool is_captured() const override { return is_captured_; }

  // Whether the GPU has begun or finished the work.
  absl::StatusOr<bool> has_begun() const { return span_.began.has_completed(); }
  absl::StatusOr<bool> is_done() const { return span_.done.has_completed(); }

  // Calls `notify` once, with OK or with the reason why no result will come.
  // The call is on the thread that calls end(), or at once if that was called.
  using Notify = std::function<void(const absl::Status&)>;
  void on_end(Notify notify);

  // Ends the work. Only the first call has an effect.
  void end(const absl::Status& outcome);

 private:
  const Span span_;
  const std::string what_;
  const bool is_captured_;
  Mutex mutex_;
  bool is_over_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status outcome_ ABSL_GUARDED_BY(mutex_);
  std::vector<Notify> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hvd::device
