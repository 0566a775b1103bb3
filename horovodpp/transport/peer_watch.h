// SPDX-License-Identifier: Apache-2.0
// A PeerWatch notices that other processes of this machine have ended: within
// microseconds, by a pidfd for each of them, or where the system has none
// (before Linux 5.3, in a sandbox) within a twentieth of a second, by looking.
// It cannot tell how they ended: only their parent learns that.
//
//   PeerWatch watch({{.rank = 1, .pid = 4711}});
//   watch.watch([](int rank, const std::string& how) { ... });
//
// One thread drives it; the callback comes from a thread of its own, which lives
// as long as the object.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "horovodpp/core/mutex.h"
#include "horovodpp/transport/owned_descriptor.h"
#include "horovodpp/transport/watched_process.h"

namespace hvd::transport {

class PeerWatch {
 public:
  struct Process {
    int rank = 0;
    std::int64_t pid = 0;
  };
  using Callback = std::function<void(int rank, const std::string& how)>;
  using Open = std::function<WatchedProcess(std::int64_t pid)>;

  // Takes hold of the processes, so that a later one with the same number is
  // not mistaken for one of them. Those that cannot be watched at all are left
  // out; those that are gone already count as ended.
  explicit PeerWatch(const std::vector<Process>& processes,
                     const Open& open = WatchedProcess::open);
  ~PeerWatch();
  PeerWatch(const PeerWatch&) = delete;
  PeerWatch& operator=(const PeerWatch&) = delete;

  // OK, or why it sees nothing.
  const absl::Status& status() const { return status_; }

  // Whether the end of `rank` would be seen.
  bool sees(int rank) const;
  // What is amiss: "" if all ends are seen, and at once.
  std::string caveat() const;

  // Whether the descriptors that it watches with are there: not where the program has
  // closed all that its process had. Ends go unseen then.
  bool has_its_descriptors() const { return wake_.is_there(); }

  // Calls `callback` once for every process that ends or has ended. It replaces
  // an earlier one; an empty one ends it: after that call returns no callback
  // is running or will run. Not to be called by the callback.
  void watch(Callback callback);

 private:
  struct Watched {
    int rank = 0;
    WatchedProcess process;
    bool ended = false;
    bool told = false;  // To the callback at hand.
  };

  void run();
  // False at the end.
  bool look_and_sleep();
  void look() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void wake() const;

  absl::Status status_;
  bool polls_ = false;          // Some have to be looked at.
  std::vector<int> not_seen_;   // Ranks.
  const OwnedDescriptor wake_;  // An eventfd.
  std::vector<int> ranks_seen_;
  Mutex mutex_;  // Held while a callback runs.
  std::vector<Watched> watched_ ABSL_GUARDED_BY(mutex_);
  Callback callback_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace hvd::transport
