// SPDX-License-Identifier: Apache-2.0
// TensorQueue is the boundary between the threads that submit tensors and the
// thread that drives the runtime. Submissions go in; requests come out for the
// coordinator; each submission comes out once, to be executed or failed. The
// queue knows which names are in flight on this rank. A submission whose name is
// in flight waits, and follows the earlier ones of its name in order of pushes:
// so the n-th submission of a name meets the n-th of other ranks, whenever each
// has ended.
//
// Thread-safe. Completions are never called under its lock. Submissions with a
// kept name (keep_name) take no lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/coordinator/protocol/batch.h"
#include "horovodpp/coordinator/protocol/name_table.h"
#include "horovodpp/coordinator/protocol/submission.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/core/trace/recorder.h"

namespace hvd::coordinator {

struct Operation;

// The queue's entry for a name.
struct QueuedName {
  explicit QueuedName(Key named = {}) : key(std::move(named)) {}
  const Key key;

  enum class Stage : std::uint8_t {
    kFree,
    kClaimed,  // Being pushed.
    kQueued,   // In flight; the first thread to take it
    kTaken,    // completes it.
  };
  std::atomic<Stage> stage{Stage::kFree};
  std::atomic<std::uint32_t> flight{0};  // Counts submissions of the name.
  Submission* holder = nullptr;          // While not free.
  // Submissions that follow, and whether there are any. Pushes read
  // `has_followers` before they claim the name, and a release after it has freed
  // the name. Only the queue's lock guards the list.
  std::deque<SubmissionPtr> followers = {};
  std::atomic<bool> has_followers{false};
  std::atomic<int> users{0};  // Submissions that point here.

  // Used by the RankProtocol: the name's operation, valid while the operation
  // table has not changed since `as_of`.
  Operation* operation = nullptr;
  std::uint64_t as_of = 0;

  // The name in the rank's trace, as a name of that kind of operation. Written
  // while the name is not in flight.
  std::uint32_t traced = trace::kNoName;
  std::optional<RequestKind> traced_as = std::nullopt;
};

// The number of a request's name in the trace. Requests that are used once
// share a name: theirs would fill the ring's part for names.
std::uint32_t traced_name(trace::Recorder& recorder, const Request& request);

class TensorQueue {
 public:
  // `recorder` outlives this object; nullptr: submissions are not recorded.
  explicit TensorQueue(trace::Recorder* recorder = nullptr)
      : recorder_(recorder) {}
  ~TensorQueue();
  TensorQueue(const TensorQueue&) = delete;
  TensorQueue& operator=(const TensorQueue&) = delete;

  // Without effect until the earlier submissions of its name are released.
  //   (as close() said)  the queue is closed
  // Returns whether to wake the driving thread: true at most once until the
  // next take_changes(). Never true if this thread `waits_at_once`, because it
  // then drives or notifies the driver. A message to another rank wakes it
  // whatever wake_at() says. From now on the request must not change.
  absl::StatusOr<bool> push(const SubmissionPtr& submission,
                            bool waits_at_once = false);

  // `submission` will be pushed several times: looks its name up now and keeps
  // the entry until drop_name(). Call both while it is not in flight.
  void keep_name(Submission& submission);
  void drop_name(Submission& submission);

  // The driving thread is about to sleep and listens for the doorbell: wake it
  // only when `unsent` submissions are queued. Returns whether they already
  // are. Holds until the next take_changes().
  bool wake_at(std::int64_t unsent) {
    await(unsent);
    return has_unsent() &&
           (unsent_count_.load() >= unsent || has_message_.load());
  }

  // A caller blocks until the submission `key` completes.
  void wait_for(const Key& key);

  struct Changes {
    // Pushed submissions, in order, to announce to the peers. Submissions that
    // have failed in the meantime are left out.
    std::vector<Submission*> unsent = {};
    // Keys of wait_for() that are still in flight. Submissions pushed before a
    // wait appear no later than the wait.
    std::vector<Key> waited_for = {};
  };
  // Replaces `news` with everything new since the last call.
  void take_changes(Changes& changes);

  // Whether take_changes() has news. Cheap.
  bool has_changes() const { return has_unsent() || has_waits_.load(); }

  // Replaces `taken` with this rank's submissions in `batch`, for execution.
  // Their names stay in flight until release().
  //   NotFound  one is not in flight
  absl::Status take(const Batch& batch, std::vector<SubmissionPtr>& taken);

  // A name in flight, and which of its submissions.
  struct InFlight {
    Key key = {};
    std::uint32_t flight = 0;

    friend bool operator==(const InFlight&, const InFlight&) = default;
  };
  // Names in flight, at most `most`.
  std::vector<InFlight> in_flight(std::size_t most);

  // Whether `submission` is in flight and has not been taken, or follows others.
  bool holds(const Submission& submission);

  // Frees the names of taken submissions that are about to complete.
  void release(const std::vector<SubmissionPtr>& submissions);

  // Driving thread only, on an open queue: pushes and takes `submission` in one
  // step, without news. Returns false if its name is not kept or is in flight.
  bool take_at_once(Submission& submission);
  void release(Submission& submission) { release_one(submission); }
  // Leaves `submission` in flight, as if pushed and announced.
  void leave_in_flight(const SubmissionPtr& submission);

  // Puts taken submissions back in flight, or fails them if the queue is
  // closed.
  void put_back(std::vector<SubmissionPtr> submissions);

  // Fails `submission`, if in flight. Only for submissions from take_changes().
  void fail(Submission* submission, const absl::Status& why);

  // A submission from take_changes() that one rank executes by itself: keeps it
  // alive, nullptr if it is no longer in flight; and completes it, if it is in
  // flight.
  static SubmissionPtr hold(const Submission& submission);
  void finish(const SubmissionPtr& held, absl::StatusOr<Results> outcome);

  // Fails everything in flight, and every later push, with `reason`. The first
  // reason stands. For the driving thread, or when it has ended.
  void close(const absl::Status& reason);

 private:
  using Stage = QueuedName::Stage;

  QueuedName* look_up(const Key& key);
  void forget(const Key& key);
  static void begin_flight(QueuedName& name);
  static bool claim(QueuedName& name);
  // Makes a free name the caller's, unless others wait for it.
  static bool take_free(QueuedName& name, Stage stage);
  // Appends `submission` to the name's followers. Pushes the first of them if
  // the name has become free.
  absl::StatusOr<bool> follow(const SubmissionPtr& submission,
                              QueuedName& name);
  // Pushes the first follower of a free name, if there is one.
  void push_follower(QueuedName& name);
  // Returns whether to wake the driving thread, unless this thread `drives`.
  bool put_follower_in_flight(const SubmissionPtr& follower, bool drives);
  // The first follower, for which the name is claimed; nullptr without one, or
  // if the name is not free.
  SubmissionPtr next_follower(QueuedName& name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Puts `submission`, whose name is claimed, in flight. See push().
  absl::StatusOr<bool> put_in_flight(const SubmissionPtr& submission,
                                     bool waits_at_once);
  void trace_name(QueuedName& name, const Request& request) noexcept;
  // In ticks; 0 without a recorder.
  std::uint64_t now() const {
    return recorder_ == nullptr ? 0 : recorder_->now();
  }
  void record(trace::EventKind kind, const Submission& submission,
              std::uint64_t now);
  bool is_closed() const { return last_.load() != nullptr; }
  absl::Status why_closed();
  absl::StatusOr<bool> refuse(QueuedName& name);
  // nullptr if not in flight. For the driving thread, which also closes.
  static SubmissionPtr take_one(Submission* submission);
  void release_one(Submission& submission);
  void await(std::int64_t unsent) {
    if (wake_at_.load() != unsent) wake_at_.store(unsent);
    if (is_rung_for_.load()) is_rung_for_.store(false);
  }
  bool has_unsent() const { return unsent_.load() != last_.load(); }
  // The flight number of `key`; nullopt if not in flight.
  std::optional<std::uint32_t> flight_of(const Key& key) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // A name at a stable address.
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

  trace::Recorder* const recorder_;

  // Fields that a thread checks before it sleeps are seq_cst, as the doorbell
  // requires. The list holds the newest first.
  std::atomic<Submission*> unsent_{nullptr};
  std::atomic<std::int64_t> unsent_count_{0};  // At least the list's length.
  std::atomic<std::int64_t> wake_at_{1};
  std::atomic<bool> is_rung_for_{false};  // Since the last await().
  std::atomic<bool> has_waits_{false};
  std::atomic<bool> has_message_{false};  // Unsent.
  // End mark of an empty list: a closed queue has another, so pushes fail.
  std::atomic<Submission*> last_{nullptr};

  Mutex mutex_;
  absl::Status closed_ ABSL_GUARDED_BY(mutex_);
  std::vector<Wait> waits_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<Entry, KeyHash, KeyEqual> names_ ABSL_GUARDED_BY(mutex_);
  // Limit before a clean-up.
  std::size_t most_names_ ABSL_GUARDED_BY(mutex_) = 4096;
  Submission closed_mark_;
};

}  // namespace hvd::coordinator
