// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/device/cuda_context.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/thread/thread_start.h"

namespace hvd::device {

absl::Status status_of(const CudaApi& api, CuResult result, const char* call) {
  if (result == kCuSuccess) return absl::OkStatus();
  const char* name = nullptr;
  const char* text = nullptr;
  if (api.cuGetErrorName(result, &name) != kCuSuccess || name == nullptr) {
    return absl::InternalError(absl::StrCat(call, ": CUDA error ", result));
  }
  api.cuGetErrorString(result, &text);
  return absl::InternalError(
      absl::StrCat(call, ": ", name, ", ", text == nullptr ? "" : text));
}

CurrentContext::CurrentContext(const CudaContext& context)
    : api_(*context.api),
      status_(status_of(api_, api_.cuCtxPushCurrent_v2(context.handle),
                        "cuCtxPushCurrent")) {
  if (status_.ok()) api_.cuThreadExchangeStreamCaptureMode(&capture_mode_);
}

CurrentContext::~CurrentContext() {
  if (!status_.ok()) return;
  api_.cuThreadExchangeStreamCaptureMode(&capture_mode_);
  CuContext popped = nullptr;
  api_.cuCtxPopCurrent_v2(&popped);
}

CudaUpkeep::~CudaUpkeep() {
  std::thread thread;
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    thread.swap(thread_);
    changed_.notify_all();
  }
  if (thread.joinable()) thread.join();
  destroy_events();
}

CuResult CudaUpkeep::take_event(CuEvent* event) {
  {
    const MutexLock lock(mutex_);
    if (!events_.empty()) {
      *event = events_.back();
      events_.pop_back();
      return kCuSuccess;
    }
  }
  return context_.api->cuEventCreate(event, kCuEventDisableTiming);
}

void CudaUpkeep::put_back(CuEvent event) {
  {
    const MutexLock lock(mutex_);
    if (events_.size() < kMaxEvents) {
      events_.push_back(event);
      return;
    }
  }
  const CurrentContext current(context_);
  context_.api->cuEventDestroy_v2(event);
}

void CudaUpkeep::free_later(std::function<void()> free) {
  {
    const MutexLock lock(mutex_);
    if (!thread_.joinable()) {
      auto started = start_thread("frees memory of a GPU", [this] { run(); });
      if (started.ok()) thread_ = *std::move(started);
    }
    if (thread_.joinable()) {
      to_free_.push_back(std::exchange(free, nullptr));
      ++given_;
      changed_.notify_all();
    }
  }
  if (free == nullptr) return;
  const CurrentContext current(context_);
  free();
}

void CudaUpkeep::run() {
  const CurrentContext current(context_);
  while (true) {
    std::function<void()> free;
    {
      const MutexLock lock(mutex_);
      while (to_free_.empty() && !stopping_) changed_.wait(mutex_);
      if (to_free_.empty()) return;
      free = std::move(to_free_.front());
      to_free_.pop_front();
    }
    free();
    free = nullptr;
    const MutexLock lock(mutex_);
    ++freed_;
    changed_.notify_all();
  }
}

bool CudaUpkeep::settle(TimePoint deadline) {
  destroy_events();
  const MutexLock lock(mutex_);
  const std::uint64_t given = given_;
  while (freed_ < given) {
    const bool in_time = changed_.wait_until(mutex_, deadline);
    if (!in_time && freed_ < given) return false;
  }
  return true;
}

void CudaUpkeep::destroy_events() {
  std::vector<CuEvent> events;
  {
    const MutexLock lock(mutex_);
    events.swap(events_);
  }
  const CurrentContext current(context_);
  for (const CuEvent event : events) context_.api->cuEventDestroy_v2(event);
}

}  // namespace hvd::device
