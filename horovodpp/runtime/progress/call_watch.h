// SPDX-License-Identifier: Apache-2.0
// A CallWatch notices that the driving thread is stuck in a call of the MPI
// library (transport/call_meter.h) that should return at once. Open MPI 4.1.4
// does not return on some ranks that lose the connection to a host.
//
//   CallWatch watch(meter, {.timeout = 4s, .is_broken = ...}, on_caught);
//   absl::Status started = watch.start();
//
// Its own thread polls a few times per timeout (`timeout`) and counts the
// polls: a suspended process does not poll either.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/transport/call_meter.h"

namespace hvd::runtime {

class CallWatch {
 public:
  struct Options {
    // The longest time that a call may take.
    std::chrono::nanoseconds timeout{};
    // Whether the job is known to be broken; a quarter of `timeout` is then
    // enough.
    std::function<bool()> is_broken;
  };
  // Called once, on the watch's thread.
  using Callback = std::function<void(const std::string& call)>;

  CallWatch(const transport::CallMeter& calls, Options options,
            Callback on_caught)
      : calls_(calls),
        options_(std::move(options)),
        on_caught_(std::move(on_caught)) {}
  ~CallWatch();
  CallWatch(const CallWatch&) = delete;
  CallWatch& operator=(const CallWatch&) = delete;

  // ResourceExhausted: the thread cannot be created.
  absl::Status start();

  // Polls per `timeout`; one more makes sure that the full time has passed.
  static constexpr int kLooks = 8;
  static constexpr int kLooksIfBroken = 2;

  // Polls once; returns whether too many polls have seen the current call.
  bool poll();

 private:
  void run();

  const transport::CallMeter& calls_;
  const Options options_;
  const Callback on_caught_;
  std::uint64_t number_ = 0;  // Of the call seen last,
  int looks_ = 0;             // and how often it was seen.
  Mutex mutex_;
  CondVar stop_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace hvd::runtime
