// SPDX-License-Identifier: Apache-2.0
// A PeerWatch detects the end of other processes of this machine. With a pidfd
// for each it takes microseconds. Without pidfds (before Linux 5.3, in a
// sandbox) it polls, within a twentieth of a second. It cannot tell how they
// ended: only their parent learns that.
//
//   PeerWatch watch({{.rank = 1, .pid = 4711}});
//   watch.watch([](int rank, const std::string& how) { ... });
//
// One thread drives it; the callback runs on a thread of this object, which
// lives as long as the object.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/transport/system/owned_descriptor.h"
#include "horovodpp/transport/system/wake_pipe.h"

namespace hvd::transport {

// A WatchedProcess is a handle on another process of this machine that detects
// its end. Neither a later process with the same pid nor a zombie is mistaken
// for it.
class WatchedProcess {
 public:
  enum class Way {
    kNone,    // Cannot be watched.
    kEnded,   // Has already ended.
    kPidfd,   // The descriptor is readable after the end (pidfd_open(2)).
    kPolled,  // Poll has_ended() (proc(5), /proc/pid/stat).
  };

  // Opens `pid` in the best way that the system supports.
  static WatchedProcess open(std::int64_t pid);
  // Opens `pid` for polling.
  static WatchedProcess open_for_polling(std::int64_t pid);
  // A process that cannot be watched.
  static WatchedProcess unwatchable() { return {Way::kNone, -1}; }

  // Also kNone once the program has closed the descriptor.
  Way way() const;
  int descriptor() const { return descriptor_.number(); }
  bool has_ended() const;
  // The program has closed the descriptor.
  void abandon() { descriptor_.abandon(); }

 private:
  WatchedProcess(Way way, int descriptor)
      : way_(way), descriptor_(descriptor) {}

  Way way_;
  OwnedDescriptor descriptor_;
};

class PeerWatch {
 public:
  struct Process {
    int rank = 0;
    std::int64_t pid = 0;
  };
  using Callback = std::function<void(int rank, const std::string& how)>;
  using Open = std::function<WatchedProcess(std::int64_t pid)>;

  // Opens the processes, so that a later process with the same pid is not
  // mistaken for one. Processes that cannot be watched are left out; processes
  // already gone count as ended. Rank `self`, if any, is this process's: it is
  // reported (kClosedDescriptors) a second after the program has closed the
  // watch's descriptors.
  explicit PeerWatch(const std::vector<Process>& processes,
                     const Open& open = WatchedProcess::open,
                     std::optional<int> self = std::nullopt);
  ~PeerWatch();
  PeerWatch(const PeerWatch&) = delete;
  PeerWatch& operator=(const PeerWatch&) = delete;

  // OK, or why no process can be watched.
  const absl::Status& status() const { return status_; }

  // Whether the end of `rank` would be detected.
  bool sees(int rank) const;
  // The limits: "" if all ends are detected, and at once.
  std::string caveat() const;

  // Whether the watch's descriptors are open. The program may have closed all
  // descriptors of its process; ends then go undetected.
  bool has_open_descriptors() const { return wake_.is_there(); }

  // Calls `callback` once for every process that ends or has ended, and for
  // `self`. Replaces an earlier callback. An empty one removes it: after that call returns, no
  // callback is running or will run. Must not be called by the callback.
  void watch(Callback callback);

 private:
  struct Watched {
    int rank = 0;
    WatchedProcess process;
    bool ended = false;
    bool notified = false;  // To the current callback.
  };

  void run();
  // False at the end.
  bool poll_and_sleep();
  bool report_self_and_sleep();
  void look() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Status status_;
  bool polls_ = false;            // Some must be polled.
  std::vector<int> unwatchable_;  // Ranks.
  const std::optional<int> self_;
  const WakePipe wake_;
  std::vector<int> watched_ranks_;
  Mutex mutex_;      // Held while a callback runs.
  CondVar changed_;  // In place of wake_, once that is closed.
  std::vector<Watched> watched_ ABSL_GUARDED_BY(mutex_);
  Callback callback_ ABSL_GUARDED_BY(mutex_);
  // When this object noticed that its descriptors were closed.
  std::optional<std::chrono::steady_clock::time_point> closed_at_
      ABSL_GUARDED_BY(mutex_);
  bool self_notified_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace hvd::transport
