// SPDX-License-Identifier: Apache-2.0
// Streams and events like CUDA's, but delayed and unsynchronized on purpose:
// each stream is a thread that idles a random time before some operations. A
// missing wait in a program therefore usually shows.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <thread>

#include "test/support/fake_cuda/memory.h"

namespace fake_cuda {

// The maximum idle time of streams in microseconds; a stream idles before one
// operation in four.
void set_delay(unsigned microseconds);

// The number of unfinished operations that a stream accepts.
inline constexpr std::size_t kQueueLimit = 1000;
void set_queue_limit(std::size_t operations);

class Event {
 public:
  virtual ~Event() = default;

  // Begins a new recording, and returns its number.
  virtual std::uint64_t begin();
  virtual void happen(std::uint64_t recording);

  // The number of the last recording; 0 if none.
  virtual std::uint64_t last() const;
  virtual bool has_completed(std::uint64_t recording) const;
  virtual void wait(std::uint64_t recording) const;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::uint64_t begun_ = 0;
  std::uint64_t happened_ = 0;
};

// An event that other processes can open by the ticket of its memory.
class SharedEvent : public Event {
 public:
  // nullptr if memory is exhausted.
  static std::shared_ptr<SharedEvent> create();
  static std::shared_ptr<SharedEvent> open(const FileTicket& ticket);
  ~SharedEvent() override;

  const FileTicket& ticket() const { return ticket_; }

  std::uint64_t begin() override;
  void happen(std::uint64_t recording) override;
  std::uint64_t last() const override;
  bool has_completed(std::uint64_t recording) const override;
  // Never returns if the process that created the event has died first.
  void wait(std::uint64_t recording) const override;

 private:
  struct State {
    std::atomic<std::uint64_t> begun;
    std::atomic<std::uint64_t> happened;
  };
  SharedEvent(const FileTicket& ticket, State* state, bool mine)
      : ticket_(ticket), state_(state), mine_(mine) {}
  static std::shared_ptr<SharedEvent> map(const FileTicket& ticket, int file,
                                          bool mine);

  const FileTicket ticket_;
  State* const state_;
  const bool mine_;
};

class Stream {
 public:
  // Returns 0 or an error number. The stream keeps the first error.
  using Work = std::function<int()>;

  // `has_limit`: false only for a graph's stream, which accepts any number of
  // operations.
  explicit Stream(int device, bool has_limit = true);
  // Finishes the remaining work.
  ~Stream();

  int device() const { return device_; }
  // Blocks while the stream is full.
  void put(Work work);
  // Blocks until the work is done.
  void put_and_wait(const Work& work);
  // Waits until the stream is empty; returns the first error.
  int synchronize();
  bool is_idle();

 private:
  void run();

  const int device_;
  const bool has_limit_;
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
