// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/checkpoint/policies/offload_pool.h"

#include <algorithm>
#include <deque>
#include <map>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/core/thread/thread_start.h"
#include "horovodpp/tensor/tensor_copy.h"

namespace hvd {
namespace {

std::int64_t bytes_of(const Tensor& x) {
  return static_cast<std::int64_t>(x.bytes());
}

}  // namespace

// The phases of a tensor: stored; queued for the thread; being fetched; ready,
// in both memories.
class OffloadPool::State {
 public:
  explicit State(const OffloadPoolOptions& options) : options_(options) {}

  // One tensor of the pool.
  struct Entry {
    enum class Phase { kStored, kQueued, kFetching, kReady };
    Tensor copy;
    autograd::Dims strides;  // Of the original.
    Phase phase = Phase::kStored;
    Tensor fetched = {};
  };
  using Number = std::uint64_t;

  // Reserves room; returns false if the pool is full.
  bool reserve(std::int64_t bytes) {
    MutexLock lock(mutex_);
    if (bytes > options_.bytes - stats_.bytes) return false;
    stats_.bytes += bytes;
    stats_.peak_bytes = std::max(stats_.peak_bytes, stats_.bytes);
    return true;
  }
  void give_back(std::int64_t bytes) {
    MutexLock lock(mutex_);
    stats_.bytes -= bytes;
  }
  Number add(Tensor copy, const autograd::Dims& strides) {
    auto entry = std::make_shared<Entry>();
    entry->copy = std::move(copy);
    entry->strides = strides;
    MutexLock lock(mutex_);
    ++stats_.stored;
    entries_.emplace(next_, std::move(entry));
    return next_++;
  }
  void remove(Number number) {
    std::shared_ptr<Entry> removed;  // Freed after the lock.
    MutexLock lock(mutex_);
    const auto found = entries_.find(number);
    removed = std::move(found->second);
    entries_.erase(found);
    stats_.bytes -= bytes_of(removed->copy);
  }

  Tensor take(Number number) {
    std::shared_ptr<Entry> entry;
    Tensor ready;
    {
      MutexLock lock(mutex_);
      entry = entries_.at(number);
      fetch_before(number);
      ++stats_.fetched;
      while (entry->phase == Entry::Phase::kFetching) done_.wait(mutex_);
      if (entry->phase == Entry::Phase::kReady) {
        ++stats_.prefetched;
        entry->phase = Entry::Phase::kStored;
        ready = std::move(entry->fetched);
      } else {
        // Removes the tensor from the thread's queue.
        entry->phase = Entry::Phase::kStored;
      }
    }
    return ready.defined() ? ready : fetch(*entry);
  }

  OffloadStats stats() const {
    MutexLock lock(mutex_);
    return stats_;
  }
  const OffloadPoolOptions& options() const { return options_; }

  // Ends the thread and all prefetching.
  void stop() {
    std::thread thread;
    {
      MutexLock lock(mutex_);
      stopped_ = true;
      unqueue();
      thread = std::move(thread_);
    }
    wake_.notify_all();
    if (thread.joinable()) thread.join();
  }

 private:
  Tensor fetch(const Entry& entry) const {
    return autograd::copy_of(entry.copy, *options_.tensors, entry.strides);
  }

  // Queues the tensors stored just before `number` for the thread.
  void fetch_before(Number number) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (stopped_) return;
    auto at = entries_.find(number);
    bool any = false;
    for (std::size_t i = 0; i < options_.prefetch && at != entries_.begin();
         ++i) {
      --at;
      if (at->second->phase != Entry::Phase::kStored) continue;
      at->second->phase = Entry::Phase::kQueued;
      queue_.emplace_back(at->first, at->second);
      any = true;
    }
    if (!any) return;
    if (!thread_.joinable()) {
      auto thread =
          start_thread("fetches offloaded tensors", [this] { run(); });
      if (!thread.ok()) return unqueue();
      thread_ = *std::move(thread);
    }
    wake_.notify_one();
  }

  // Without the thread, each tensor is fetched on demand.
  void unqueue() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (auto& [number, entry] : queue_) entry->phase = Entry::Phase::kStored;
    queue_.clear();
  }

  // The thread's function.
  void run() {
    while (const std::shared_ptr<Entry> entry = next_in_queue()) {
      Tensor fetched;
      try {
        fetched = fetch(*entry);
      } catch (...) {
        // take() tries again, and reports a lasting error.
      }
      MutexLock lock(mutex_);
      entry->phase =
          fetched.defined() ? Entry::Phase::kReady : Entry::Phase::kStored;
      entry->fetched = std::move(fetched);
      done_.notify_all();
    }
  }

  // Null at the end.
  std::shared_ptr<Entry> next_in_queue() {
    MutexLock lock(mutex_);
    while (!stopped_) {
      if (queue_.empty()) {
        wake_.wait(mutex_);
        continue;
      }
      std::shared_ptr<Entry> entry = std::move(queue_.front().second);
      queue_.pop_front();
      if (entry->phase != Entry::Phase::kQueued) continue;
      entry->phase = Entry::Phase::kFetching;
      return entry;
    }
    return nullptr;
  }

  const OffloadPoolOptions options_;
  mutable Mutex mutex_;
  CondVar wake_;  // The queue has an entry, or the pool stops.
  CondVar done_;  // A fetch has ended.
  // In order of storing.
  std::map<Number, std::shared_ptr<Entry>> entries_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::pair<Number, std::shared_ptr<Entry>>> queue_
      ABSL_GUARDED_BY(mutex_);
  Number next_ ABSL_GUARDED_BY(mutex_) = 0;
  OffloadStats stats_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_ ABSL_GUARDED_BY(mutex_);
};

class OffloadPool::Stored final : public OffloadPool::Item {
 public:
  Stored(std::shared_ptr<State> state, Tensor copy,
         const autograd::Dims& strides)
      : state_(std::move(state)),
        number_(state_->add(std::move(copy), strides)) {}
  ~Stored() override { state_->remove(number_); }
  Stored(const Stored&) = delete;
  Stored& operator=(const Stored&) = delete;
  Tensor take() override { return state_->take(number_); }

 private:
  const std::shared_ptr<State> state_;
  const State::Number number_;
};

OffloadPool::OffloadPool(const OffloadPoolOptions& options) {
  const bool complete = options.memory != nullptr && options.tensors != nullptr;
  if (options.bytes < 0 || !complete) {
    throw InvalidArgument(
        absl::StrCat("OffloadPool: ", options.bytes, " bytes, ",
                     complete ? "" : "an allocator that is null; ",
                     "wanted are 0 bytes or more, and two allocators"));
  }
  state_ = std::make_shared<State>(options);
}

OffloadPool::~OffloadPool() { state_->stop(); }

OffloadPool& OffloadPool::of_process() {
  static auto* pool = new OffloadPool();
  return *pool;
}

std::unique_ptr<OffloadPool::Item> OffloadPool::try_store(
    const Tensor& tensor) {
  const std::int64_t bytes = bytes_of(tensor);
  if (!state_->reserve(bytes)) return nullptr;
  try {
    return std::make_unique<Stored>(
        state_, autograd::copy_of(tensor, *state_->options().memory),
        tensor.strides());
  } catch (...) {
    state_->give_back(bytes);
    throw;
  }
}

std::unique_ptr<OffloadPool::Item> OffloadPool::store(const Tensor& tensor) {
  if (auto item = try_store(tensor)) return item;
  throw Error(absl::ResourceExhaustedError(
      absl::StrCat("OffloadPool: a ", tensor.describe(), " of ", tensor.bytes(),
                   " bytes does not fit, for ", stats().bytes, " of ",
                   state_->options().bytes,
                   " bytes are in use; give the pool more bytes, or prefer to "
                   "offload, which skips tensors that do not fit")));
}

OffloadStats OffloadPool::stats() const { return state_->stats(); }

}  // namespace hvd
