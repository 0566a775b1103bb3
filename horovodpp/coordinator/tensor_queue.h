// SPDX-License-Identifier: Apache-2.0
// The TensorQueue is the boundary between the threads that submit tensors and
// the one that drives the runtime: submissions go in, requests come out for the
// coordinator, and each submission comes out once, to be executed or failed. It
// knows which names are in flight on this rank.
//
// Thread-safe. No completion is called under its lock, and what has a name that
// is kept (keep_name) goes through without one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/coordinator/batch.h"
#include "horovodpp/coordinator/name_table.h"
#include "horovodpp/coordinator/submission.h"
#include "horovodpp/core/mutex.h"

namespace hvd::coordinator {

struct Operation;

// What a TensorQueue knows of a name.
struct QueuedName {
  explicit QueuedName(Key named = {}) : key(std::move(named)) {}
  const Key key;

  enum class Stage : std::uint8_t {
    kFree,
    kClaimed,  // Being pushed.
    kQueued,   // In flight, and yet to be taken by whoever is first,
    kTaken,    // who completes it.
  };
  std::atomic<Stage> stage{Stage::kFree};
  std::atomic<std::uint32_t> flight{0};  // Which submission of it this is.
  Submission* holder = nullptr;          // While it is not free.
  std::atomic<int> users{0};             // Submissions that point here.

  // Of the RankProtocol: the name's operation, while the table of operations has
  // not changed since.
  Operation* operation = nullptr;
  std::uint64_t as_of = 0;
};

class TensorQueue {
 public:
  TensorQueue() = default;
  ~TensorQueue();
  TensorQueue(const TensorQueue&) = delete;
  TensorQueue& operator=(const TensorQueue&) = delete;

  //   AlreadyExists    its name is in flight on this rank
  //   (as close() said)  the queue is closed
  // Otherwise: whether the thread that drives is to be woken for it, which is so
  // once until the next take_news(), and never where this thread `waits_at_once`: it
  // then drives, or tells who does. From now on nobody changes its request.
  absl::StatusOr<bool> push(const SubmissionPtr& submission,
                            bool waits_at_once = false);

  // `submission` will be pushed more than once: its name is looked up now, and
  // kept until let_go(). It is not in flight in either.
  void keep_name(Submission& submission);
  void let_go(Submission& submission);

  // That thread is about to sleep, and listens for rings: it need not be woken before
  // so many are unsent; whether they are already. Holds until the next take_news().
  bool wake_at(std::int64_t unsent) {
    await(unsent);
    return unsent_count_.load() >= unsent && has_unsent();
  }

  // Somebody blocks until the submission `key` has an outcome.
  void wait_for(const Key& key);

  struct News {
    // What was pushed, in order: to be told to the peers. What has failed
    // meanwhile is not among it.
    std::vector<Submission*> unsent = {};
    // Of wait_for(), as far as still in flight. Whatever was pushed before is
    // not later news: who knows of the wait knows of that, too.
    std::vector<Key> waited_for = {};
  };
  // Replaces `news` by what has come up since the last call.
  void take_news(News& news);

  // Whether there is any. Cheap.
  bool has_news() const { return has_unsent() || has_waits_.load(); }

  // Replaces `taken` by the submissions of those entries of `batch` that are
  // submitted here, to be executed. Their names stay in flight until release().
  //   NotFound  one is not in flight
  absl::Status take(const Batch& batch, std::vector<SubmissionPtr>& taken);

  // Whether `submission` is in flight and has not been taken.
  bool holds(const Submission& submission) const;

  // What was taken is about to be completed.
  void release(const std::vector<SubmissionPtr>& submissions);

  // For the thread that drives, where nobody has closed the queue: pushes and takes
  // `submission`, which nobody else has to be told of. False where its name is not
  // kept, or is in flight.
  bool take_at_once(Submission& submission);
  void release(Submission& submission) { release_one(submission); }
  // It is in flight from now on, as if it had been pushed and told.
  void leave_in_flight(const SubmissionPtr& submission);

  // What was taken is in flight again, or fails if the queue is closed.
  void put_back(std::vector<SubmissionPtr> submissions);

  // Fails `submission`, if it is in flight. Only one that take_news() gave.
  void fail(Submission* submission, const absl::Status& why);

  // Fails everything in flight, and every later push, with `reason`. The first
  // reason stands. For the thread that drives, or when there is none any more.
  void close(const absl::Status& reason);

 private:
  using Stage = QueuedName::Stage;

  QueuedName* look_up(const Key& key);
  void forget(const Key& key);
  static void begin_flight(QueuedName& name);
  static bool claim(QueuedName& name);
  bool is_closed() const { return last_.load() != nullptr; }
  absl::Status why_closed();
  absl::StatusOr<bool> refuse(QueuedName& name);
  // nullptr: it is not in flight. For the thread that drives, which closes, too.
  static SubmissionPtr take_one(Submission* submission);
  void release_one(Submission& submission);
  void await(std::int64_t unsent) {
    if (wake_at_.load() != unsent) wake_at_.store(unsent);
    if (is_rung_for_.load()) is_rung_for_.store(false);
  }
  bool has_unsent() const { return unsent_.load() != last_.load(); }
  // Which flight of `key` this is; nullopt: it is not in flight.
  std::optional<std::uint32_t> flight_of(const Key& key) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // A name, which stays where it is.
  class Entry {
   public:
    Entry(const Key& key, std::size_t hash)
        : name_(std::make_unique<QueuedName>(key)), hash_(hash) {}
    QueuedName& name() const { return *name_; }
    const Key& key() const { return name_->key; }
    std::size_t hash() const { return hash_; }

   private:
    std::unique_ptr<QueuedName> name_;
    std::size_t hash_;
  };

  struct Wait {
    Key key = {};
    std::uint32_t flight = 0;
  };

  // All that a thread which sleeps looks at before is seq_cst, as the doorbell
  // demands. A list, the newest first.
  std::atomic<Submission*> unsent_{nullptr};
  std::atomic<std::int64_t> unsent_count_{0};  // Of the list, or more.
  std::atomic<std::int64_t> wake_at_{1};
  std::atomic<bool> is_rung_for_{false};  // Since the last await().
  std::atomic<bool> has_waits_{false};
  // What an empty list ends with: nothing can be added to one that is closed.
  std::atomic<Submission*> last_{nullptr};

  Mutex mutex_;
  absl::Status closed_ ABSL_GUARDED_BY(mutex_);
  std::vector<Wait> waits_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<Entry, KeyHash, KeyEqual> names_ ABSL_GUARDED_BY(mutex_);
  std::size_t most_names_ ABSL_GUARDED_BY(mutex_) = 4096;  // Before a look.
  Submission closed_mark_;
};

}  // namespace hvd::coordinator
