// SPDX-License-Identifier: Apache-2.0
// An NcclWatch polls NCCL's work on the GPU. It reports finished work. It
// breaks the job with the reason after an error, or if work does not end. If
// the job is broken it ends the work in flight, so that no memory is in use
// when its owner learns of the failure.
//
// Its thread starts with the first work, and sleeps while there is none.
// Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "horovodpp/collective/gpu_wait.h"
#include "horovodpp/collective/nccl/communicator.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/device/gpu_work.h"

namespace hvd::collective {

class NcclWatch {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // The watch's interface to the job. All functions are called on the watch's
  // thread.
  struct Job {
    // OK, or why it is broken; polls for news.
    std::function<absl::Status()> verdict;
    // Whether it is known to be broken.
    std::function<bool()> is_broken;
    // Breaks it; `why` says what this rank does or has.
    std::function<void(const std::string& why)> give_up;
    // Outcomes have been reported.
    std::function<void()> ring;
    // How long work may take before a warning, and before the job is given up.
    GpuTimeouts timeouts = {};
    // The time after which the loss of another rank is noticed by other means,
    // which name the rank. NCCL's error does not; so it is reported only after
    // that time.
    std::chrono::nanoseconds loss_detection_time{0};
    // How long ranks may take to end a communicator together.
    std::chrono::nanoseconds close_timeout = std::chrono::seconds(1);
  };

  explicit NcclWatch(Job job) : job_(std::move(job)) {}
  ~NcclWatch() { stop(); }
  NcclWatch(const NcclWatch&) = delete;
  NcclWatch& operator=(const NcclWatch&) = delete;

  // Keeps a communicator until it is retired, or the watch stops.
  //   (errors)  a thread cannot be started
  absl::Status adopt(std::shared_ptr<NcclCommunicator> communicator);
  // Destroys its graphs now, and ends it when its work is over; all its ranks
  // do so.
  void retire(const std::shared_ptr<NcclCommunicator>& communicator);

  // Watches `work` of the communicator `by`, which was adopted, until the work
  // is over.
  void watch(std::shared_ptr<device::GpuWork> work,
             std::shared_ptr<NcclCommunicator> by);

  // Whether this thread is the watch's, as in a callback of a future.
  bool is_here() const { return std::this_thread::get_id() == id_.load(); }

  // On the watch's thread: continues polling until `ready()`. A callback that
  // waits for the end of a broken job needs this.
  void poll_until(const std::function<bool()>& ready);

  // Retires all communicators. Returns when all work is over and they have
  // ended, or NCCL has exceeded NcclCommunicator::kCloseTimeout.
  void stop();

 private:
  struct Watched {
    std::shared_ptr<device::GpuWork> work;
    std::shared_ptr<NcclCommunicator> by;
  };
  struct Closing {
    std::shared_ptr<NcclCommunicator> communicator;
    std::optional<TimePoint> since = {};  // When its work was over.
    bool is_finalized = false;
    std::optional<TimePoint> deadline = {};  // Set once its end has begun.
  };

  void run();
  // Polls once; returns whether anything has changed.
  bool look();
  // The first work that is not over.
  std::optional<Watched> first();
  bool finish_completed_work();
  void check_for_errors(const Watched& work);
  void check_for_stall(const Watched& work);
  // Ends all work with the outcome `why`.
  void end_all(const absl::Status& why);
  bool close_retired();
  bool has_work(const NcclCommunicator& by);
  bool close(Closing& closing) const;

  const Job job_;
  std::atomic<std::thread::id> id_{};
  Mutex mutex_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<Watched> works_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<NcclCommunicator>> adopted_
      ABSL_GUARDED_BY(mutex_);
  std::vector<Closing> closing_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_ ABSL_GUARDED_BY(mutex_);

  // For the watch's thread: the first work and since when it has been first;
  // and since when NCCL has reported that another rank is gone.
  const device::GpuWork* stalled_ = nullptr;
  TimePoint stalled_since_{};
  bool warned_ = false;
  bool given_up_ = false;
  std::optional<TimePoint> remote_error_since_;
};

}  // namespace hvd::collective
