// SPDX-License-Identifier: Apache-2.0
#include "test/support/fake_cuda/stream.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>

namespace fake_cuda {
namespace {

std::atomic<unsigned> longest_delay{300};
std::atomic<unsigned> streams_made{0};

}  // namespace

void set_delay(unsigned microseconds) { longest_delay = microseconds; }

std::uint64_t Event::begin() {
  const std::lock_guard lock(mutex_);
  return ++begun_;
}

void Event::happen(std::uint64_t recording) {
  const std::lock_guard lock(mutex_);
  happened_ = std::max(happened_, recording);
  changed_.notify_all();
}

std::uint64_t Event::last() const {
  const std::lock_guard lock(mutex_);
  return begun_;
}

bool Event::has_happened(std::uint64_t recording) const {
  const std::lock_guard lock(mutex_);
  return happened_ >= recording;
}

void Event::wait(std::uint64_t recording) const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return happened_ >= recording; });
}

Stream::Stream(int device)
    : device_(device), random_(++streams_made), thread_([this] { run(); }) {}

Stream::~Stream() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void Stream::put(Work work) {
  const std::lock_guard lock(mutex_);
  work_.push_back(std::move(work));
  changed_.notify_all();
}

int Stream::synchronize() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return work_.empty() && !busy_; });
  return error_;
}

void Stream::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return ending_ || !work_.empty(); });
    if (work_.empty()) return;
    const Work work = std::move(work_.front());
    work_.pop_front();
    busy_ = true;
    const auto chance = static_cast<unsigned>(random_());
    const unsigned delay =
        chance % 4 == 0 ? chance / 4 % (longest_delay.load() + 1) : 0;
    lock.unlock();
    if (delay > 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(delay));
    }
    const int error = work();
    lock.lock();
    if (error_ == 0) error_ = error;
    busy_ = false;
    changed_.notify_all();
  }
}

}  // namespace fake_cuda
