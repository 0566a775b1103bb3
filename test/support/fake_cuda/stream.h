// SPDX-License-Identifier: Apache-2.0
// Streams and events as CUDA has them, but late and out of step on purpose: each
// stream is a thread that idles a random time before some pieces of work. So what a
// program forgot to wait for has most likely not happened yet.
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

// How long streams idle at most, in microseconds; they do before one piece in four.
void set_delay(unsigned microseconds);

// How much a stream takes that it has not done yet.
inline constexpr std::size_t kQueueLimit = 1000;
void set_queue_limit(std::size_t operations);

class Event {
 public:
  virtual ~Event() = default;

  // A new recording, and its number.
  virtual std::uint64_t begin();
  virtual void happen(std::uint64_t recording);

  // Of the last recording; 0 if there is none.
  virtual std::uint64_t last() const;
  virtual bool has_happened(std::uint64_t recording) const;
  virtual void wait(std::uint64_t recording) const;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::uint64_t begun_ = 0;
  std::uint64_t happened_ = 0;
};

// One that other processes can open, by the ticket of its memory.
class SharedEvent : public Event {
 public:
  // nullptr if there is no memory.
  static std::shared_ptr<SharedEvent> create();
  static std::shared_ptr<SharedEvent> open(const FileTicket& ticket);
  ~SharedEvent() override;

  const FileTicket& ticket() const { return ticket_; }

  std::uint64_t begin() override;
  void happen(std::uint64_t recording) override;
  std::uint64_t last() const override;
  bool has_happened(std::uint64_t recording) const override;
  // Does not end when the process that created it has died first.
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
  // Returns 0 or the number of an error, of which the first is kept.
  using Work = std::function<int()>;

  // One that has no limit takes whatever it is given: no program has it, but a graph.
  explicit Stream(int device, bool has_limit = true);
  // Does what is left, and ends.
  ~Stream();

  int device() const { return device_; }
  // Blocks while it has as much left as it takes.
  void put(Work work);
  // Blocks until it has been done.
  void put_and_wait(const Work& work);
  // Waits until there is nothing left; returns the first error.
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
