// SPDX-License-Identifier: Apache-2.0
// A GpuWork is what a call has put into a stream and does not wait for. Other streams
// can be put in order behind it, and who wants to know its end is told.
//
//   auto work = std::make_shared<GpuWork>(GpuWork::Span{began, done}, "allreduce");
//   work->when_over([](const absl::Status& status) { ... });
//   ...
//   if (work->is_done().value_or(false)) work->end(absl::OkStatus());
//
// It does not look for its end by itself: somebody looks, and says so. Thread-safe.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/core/enqueued.h"
#include "horovodpp/core/mutex.h"
#include "horovodpp/device/cuda_stream.h"

namespace hvd::device {

class GpuWork : public Enqueued {
 public:
  // Points in the stream: what comes before it has been done; it has been done.
  struct Span {
    CudaEvent began;
    CudaEvent done;
  };
  // `what`: as in messages. Of what is recorded into a graph, nothing asks whether it
  // is done.
  GpuWork(Span span, std::string what, bool captured = false)
      : span_(std::move(span)),
        what_(std::move(what)),
        is_captured_(captured) {}

  const std::string& what() const { return what_; }

  Status order(void* stream) const override;
  bool is_captured() const override { return is_captured_; }

  // Of the GPU.
  absl::StatusOr<bool> has_begun() const { return span_.began.has_happened(); }
  absl::StatusOr<bool> is_done() const { return span_.done.has_happened(); }

  // `tell` is called once, with OK, or with the reason why there will be no result:
  // on the thread that says so, or at once.
  using Tell = std::function<void(const absl::Status&)>;
  void when_over(Tell tell);

  // Says that it is over. The first time counts.
  void end(const absl::Status& outcome);

 private:
  const Span span_;
  const std::string what_;
  const bool is_captured_;
  Mutex mutex_;
  bool is_over_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status outcome_ ABSL_GUARDED_BY(mutex_);
  std::vector<Tell> told_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hvd::device
