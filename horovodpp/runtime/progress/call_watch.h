// SPDX-License-Identifier: Apache-2.0
// A CallWatch notices that the thread which drives the job is caught in a call
// of the library below (transport/call_meter.h) that should return at once. Open
// MPI 4.1.4 does that to some of those who lose the connection to a host.
//
//   CallWatch watch(meter, {.patience = 4s, .is_broken = ...}, on_caught);
//   absl::Status started = watch.start();
//
// A thread of its own looks a few times per patience, and counts its looks: a
// process that is suspended as a whole does not look either.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "horovodpp/core/mutex.h"
#include "horovodpp/transport/call_meter.h"

namespace hvd::runtime {

class CallWatch {
 public:
  struct Options {
    // How long a call may take.
    std::chrono::nanoseconds patience{};
    // Whether the job is known to be broken: then a quarter of it is enough.
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

  // ResourceExhausted: there can be no thread.
  absl::Status start();

  // Of `patience`; one look more makes sure that so much time has passed.
  static constexpr int kLooks = 8;
  static constexpr int kLooksIfBroken = 2;

  // One look; whether the call at hand has been seen in too many.
  bool look();

 private:
  void run();

  const transport::CallMeter& calls_;
  const Options options_;
  const Callback on_caught_;
  std::uint64_t number_ = 0;  // Of the call seen last,
  int looks_ = 0;             // and how often it was.
  Mutex mutex_;
  CondVar stop_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace hvd::runtime
