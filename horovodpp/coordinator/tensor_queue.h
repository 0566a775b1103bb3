// SPDX-License-Identifier: Apache-2.0
// The TensorQueue is the boundary between the threads that submit tensors and
// the one that drives the runtime: submissions go in by key, requests come out
// for the coordinator, and each submission comes out once, to be executed or
// failed.
//
// Thread-safe. No completion is called under its lock.
#pragma once

#include <atomic>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/coordinator/batch.h"
#include "horovodpp/coordinator/submission.h"
#include "horovodpp/core/mutex.h"

namespace hvd::coordinator {

class TensorQueue {
 public:
  //   AlreadyExists    its name is in flight on this rank
  //   (as close() said)  the queue is closed
  // Otherwise: whether the thread that drives is to be woken for it. From now on
  // nobody changes its request.
  absl::StatusOr<bool> push(SubmissionPtr submission);

  // That thread is about to sleep, and need not be woken before so many are
  // unsent; whether they are already. Holds until the next take_news().
  bool wake_at(std::size_t unsent) {
    if (wake_at_.load() == unsent && !has_news()) return false;
    return set_wake_at(unsent);
  }

  // Somebody blocks until the submission `key` has an outcome.
  void wait_for(const Key& key);

  struct News {
    // What was pushed, in order: to be told to the peers. What has failed
    // meanwhile is among it.
    std::vector<SubmissionPtr> unsent = {};
    // Of wait_for(), as far as still in flight. Whatever was pushed before is
    // not later news: who knows of the wait knows of that, too.
    std::vector<Key> waited_for = {};
  };
  // Replaces `news` by what has come up since the last call.
  void take_news(News& news);

  // Whether there is any. Cheap.
  bool has_news() const { return has_news_.load(); }

  // Replaces `taken` by the submissions of those entries of `batch` that are
  // submitted here, to be executed. Their names stay in flight until release().
  //   NotFound  one is not in flight
  absl::Status take(const Batch& batch, std::vector<SubmissionPtr>& taken);

  // Whether `submission` is in flight and has not been taken.
  bool holds(const Submission& submission);

  // What was taken is about to be completed.
  void release(const std::vector<SubmissionPtr>& submissions);

  // What was taken is in flight again, or fails if the queue is closed.
  void put_back(std::vector<SubmissionPtr> submissions);

  // Fails the submission `key`, if it is in flight.
  void fail(const Key& key, const absl::Status& why);

  // Fails everything in flight, and every later push, with `reason`. The first
  // reason stands.
  void close(const absl::Status& reason);

 private:
  struct Entry {
    SubmissionPtr submission;
    mutable bool taken = false;  // Not part of its key.
  };
  struct KeyHash {
    using is_transparent = void;
    std::size_t operator()(const Key& key) const {
      return absl::Hash<Key>()(key);
    }
    std::size_t operator()(const Entry& entry) const {
      return (*this)(entry.submission->request.key);
    }
  };
  struct KeyEqual {
    using is_transparent = void;
    static const Key& key_of(const Key& key) { return key; }
    static const Key& key_of(const Entry& entry) {
      return entry.submission->request.key;
    }
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return key_of(a) == key_of(b);
    }
  };
  using InFlight = absl::flat_hash_set<Entry, KeyHash, KeyEqual>;

  bool set_wake_at(std::size_t unsent);
  absl::StatusOr<SubmissionPtr> take_one(const Key& key)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool is_pending(const Key& key) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // seq_cst, as the doorbell demands of what is looked at before a sleep.
  std::atomic<bool> has_news_{false};
  Mutex mutex_;
  absl::Status closed_ ABSL_GUARDED_BY(mutex_);
  std::vector<SubmissionPtr> unsent_ ABSL_GUARDED_BY(mutex_);
  std::atomic<std::size_t> wake_at_{1};  // Changes under the lock.
  std::vector<Key> waited_for_ ABSL_GUARDED_BY(mutex_);
  InFlight in_flight_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hvd::coordinator
