// SPDX-License-Identifier: Apache-2.0
// A ConnectionWatch detects the end of ranks on other hosts by the end of their
// connections: the kernel closes the connections of a dead process. A host that
// loses power, or its network, closes none; heartbeats detect that.
//
// One thread drives it; the callback runs on a thread of this object, which
// lives as long as the object.
#pragma once

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/transport/system/owned_descriptor.h"
#include "horovodpp/transport/system/wake_pipe.h"

namespace hvd::transport {

class ConnectionWatch {
 public:
  struct Connection {
    int rank = 0;
    int socket = -1;
  };
  using Callback = std::function<void(int rank, const std::string& how)>;

  // The sockets are borrowed until the destructor returns. Without any, no
  // thread starts.
  explicit ConnectionWatch(const std::vector<Connection>& connections);
  ~ConnectionWatch();
  ConnectionWatch(const ConnectionWatch&) = delete;
  ConnectionWatch& operator=(const ConnectionWatch&) = delete;

  // OK, or why connections cannot be watched.
  const absl::Status& status() const { return status_; }

  // Calls `callback` once for every rank whose connection ends or has ended.
  // Replaces an earlier callback. An empty one removes it: after that call
  // returns, no callback is running or will run. Must not be called by the
  // callback.
  void watch(Callback callback);

 private:
  struct Ended {
    int rank = 0;
    std::string how{};
    bool told = false;  // To the current callback.
  };

  void run();
  bool wait_for_ends();
  void report() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Status status_;
  const WakePipe wake_;
  OwnedDescriptor events_;  // An epoll of the sockets and of wake_.
  Mutex mutex_;             // Held while a callback runs.
  std::vector<Ended> ended_ ABSL_GUARDED_BY(mutex_);
  Callback callback_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace hvd::transport
