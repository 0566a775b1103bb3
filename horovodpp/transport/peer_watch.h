// A PeerWatch notices, within microseconds, that other processes of this
// machine have ended, by a pidfd for each of them. It cannot tell how they
// ended: only their parent learns that.
//
//   PeerWatch watch({{.rank = 1, .pid = 4711}});
//   watch.watch([](int rank, const std::string& how) { ... });
//
// One thread drives it; the callback comes from a thread of its own. It stops
// with the object.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace hvd::transport {

class PeerWatch {
 public:
  struct Process {
    int rank = 0;
    std::int64_t pid = 0;
  };
  using Callback = std::function<void(int rank, const std::string& how)>;

  // Takes hold of the processes, so that a later one with the same number is
  // not mistaken for one of them. Those that cannot be watched (a kernel before
  // Linux 5.3, a sandbox, no descriptor left) are left out; those that are gone
  // already count as ended.
  explicit PeerWatch(const std::vector<Process>& processes);
  ~PeerWatch();
  PeerWatch(const PeerWatch&) = delete;
  PeerWatch& operator=(const PeerWatch&) = delete;

  // Whether the end of `rank` would be seen.
  bool sees(int rank) const;

  // Calls `callback` once for every process that ends or has ended. It replaces
  // an earlier one; an empty one ends it: after that call returns no callback
  // is running or will run. Not to be called by the callback.
  void watch(Callback callback);

 private:
  static constexpr int kGone = -1;
  struct Watched {
    int rank = 0;
    int descriptor = kGone;
  };

  void run(const Callback& callback) const;

  std::vector<Watched> watched_;
  int stop_;  // An eventfd, readable once the thread is to end.
  std::thread thread_;
};

}  // namespace hvd::transport
