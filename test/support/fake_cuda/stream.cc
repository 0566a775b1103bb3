// SPDX-License-Identifier: Apache-2.0
#include "test/support/fake_cuda/stream.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>

namespace fake_cuda {
namespace {

std::atomic<unsigned> longest_delay{300};
std::atomic<std::size_t> queue_limit{kQueueLimit};
std::atomic<unsigned> streams_made{0};

}  // namespace

void set_delay(unsigned microseconds) { longest_delay = microseconds; }

void set_queue_limit(std::size_t operations) { queue_limit = operations; }

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

bool Event::has_completed(std::uint64_t recording) const {
  const std::lock_guard lock(mutex_);
  return happened_ >= recording;
}

void Event::wait(std::uint64_t recording) const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return happened_ >= recording; });
}

std::shared_ptr<SharedEvent> SharedEvent::map(const FileTicket& ticket,
                                              int file, bool mine) {
  void* const memory =
      mmap(nullptr, sizeof(State), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (!mine) close(file);
  if (memory == MAP_FAILED) return nullptr;
  return std::shared_ptr<SharedEvent>(
      new SharedEvent(ticket, static_cast<State*>(memory), mine));
}

std::shared_ptr<SharedEvent> SharedEvent::create() {
  const int file = memfd_create("fake gpu event", MFD_CLOEXEC);
  if (file < 0) return nullptr;
  if (ftruncate(file, sizeof(State)) != 0) {
    close(file);
    return nullptr;
  }
  return map({getpid(), file}, file, true);
}

std::shared_ptr<SharedEvent> SharedEvent::open(const FileTicket& ticket) {
  const int file = ticket.open();
  return file < 0 ? nullptr : map(ticket, file, false);
}

SharedEvent::~SharedEvent() {
  munmap(state_, sizeof(State));
  if (mine_) close(ticket_.descriptor);
}

std::uint64_t SharedEvent::begin() { return ++state_->begun; }

void SharedEvent::happen(std::uint64_t recording) {
  std::uint64_t before = state_->happened;
  while (before < recording &&
         !state_->happened.compare_exchange_weak(before, recording)) {
  }
}

std::uint64_t SharedEvent::last() const { return state_->begun; }

bool SharedEvent::has_completed(std::uint64_t recording) const {
  return state_->happened >= recording;
}

void SharedEvent::wait(std::uint64_t recording) const {
  while (!has_completed(recording)) {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

Stream::Stream(int device, bool has_limit)
    : device_(device),
      has_limit_(has_limit),
      random_(++streams_made),
      thread_([this] { run(); }) {}

Stream::~Stream() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void Stream::put(Work work) {
  std::unique_lock lock(mutex_);
  changed_.wait(
      lock, [&] { return !has_limit_ || work_.size() < queue_limit.load(); });
  work_.push_back(std::move(work));
  changed_.notify_all();
}

void Stream::put_and_wait(const Work& work) {
  const auto done = std::make_shared<Event>();
  put([=] {
    const int error = work();
    done->happen(1);
    return error;
  });
  done->wait(1);
}

int Stream::synchronize() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return work_.empty() && !busy_; });
  return error_;
}

bool Stream::is_idle() {
  const std::lock_guard lock(mutex_);
  return work_.empty() && !busy_;
}

void Stream::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return ending_ || !work_.empty(); });
    if (work_.empty()) return;
    const Work work = std::move(work_.front());
    work_.pop_front();
    busy_ = true;
    changed_.notify_all();
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
