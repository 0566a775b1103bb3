// SPDX-License-Identifier: Apache-2.0
// Streams and events as CUDA has them, but late and out of step on purpose: each
// stream is a thread that idles a random time before some pieces of work. So what a
// program forgot to wait for has most likely not happened yet.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <thread>

namespace fake_cuda {

// How long streams idle at most, in microseconds; they do before one piece in four.
void set_delay(unsigned microseconds);

class Event {
 public:
  // A new recording, and its number.
  std::uint64_t begin();
  void happen(std::uint64_t recording);

  // Of the last recording; 0 if there is none.
  std::uint64_t last() const;
  bool has_happened(std::uint64_t recording) const;
  void wait(std::uint64_t recording) const;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::uint64_t begun_ = 0;
  std::uint64_t happened_ = 0;
};

class Stream {
 public:
  // Returns 0 or the number of an error, of which the first is kept.
  using Work = std::function<int()>;

  explicit Stream(int device);
  // Does what is left, and ends.
  ~Stream();

  int device() const { return device_; }
  void put(Work work);
  // Waits until there is nothing left; returns the first error.
  int synchronize();

 private:
  void run();

  const int device_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> work_;
  bool busy_ = false;
  bool ending_ = false;
  int error_ = 0;
  std::minstd_rand random_;
  std::thread thread_;
};

}  // namespace fake_cuda
