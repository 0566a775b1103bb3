// SPDX-License-Identifier: Apache-2.0
// A CudaContext is a GPU as this process uses it; a CurrentContext makes it
// current on a thread.
//
//   const CurrentContext current(context);
//   HVD_RETURN_IF_ERROR(current.status());
//
// A CudaContext may be used by any thread, a CurrentContext by the thread that
// created it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/device/cuda_api.h"

namespace hvd::device {

class CudaUpkeep;

// Copied freely; valid as long as the driver.
struct CudaContext {
  const CudaApi* api;
  CuContext handle;
  int index;  // As in Device::cuda(index).
  CudaUpkeep* upkeep;
};

// OK, or an Internal error "<call>: <name of the error>, <its text>".
absl::Status status_of(const CudaApi& api, CuResult result, const char* call);

// Makes a context the current one of this thread for its lifetime. Meanwhile
// the thread's calls of the driver do not disturb the program's capture of a
// stream, unless they enqueue work on that very stream. Otherwise polling an
// event, or an allocation, would make the capture fail.
class CurrentContext {
 public:
  explicit CurrentContext(const CudaContext& context);
  ~CurrentContext();
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

  const absl::Status& status() const { return status_; }

 private:
  const CudaApi& api_;
  absl::Status status_;
  int capture_mode_ = kCuCaptureRelaxed;  // The thread's, before and after.
};

// The CudaUpkeep of a GPU keeps events for reuse, and frees memory on its own
// thread. The driver frees memory only when the whole GPU is idle, and no
// caller should wait for that.
//
//   context.upkeep->free_later([=] { context.api->cuMemFree_v2(memory); });
//
// Thread-safe.
class CudaUpkeep {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // The most kept events; put_back() destroys further ones.
  static constexpr std::size_t kMaxEvents = 1024;

  CudaUpkeep(const CudaApi& api, CuContext handle, int index)
      : context_{
            .api = &api, .handle = handle, .index = index, .upkeep = this} {}
  // Waits until all memory has been freed.
  ~CudaUpkeep();
  CudaUpkeep(const CudaUpkeep&) = delete;
  CudaUpkeep& operator=(const CudaUpkeep&) = delete;

  const CudaContext& context() const { return context_; }

  // An event without timing; only its next recording counts. The context is
  // current.
  CuResult take_event(CuEvent* event);
  void put_back(CuEvent event);

  // Calls `free` with the context current, after earlier calls' functions.
  void free_later(std::function<void()> free);

  // Waits until the memory given so far is freed, and destroys the events.
  // Returns whether that was done by the deadline.
  bool settle(TimePoint deadline);

 private:
  void run();
  void destroy_events();

  const CudaContext context_;
  Mutex mutex_;
  CondVar changed_;
  std::vector<CuEvent> events_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::function<void()>> to_free_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t given_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t freed_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hvd::device
