// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/tensor_queue.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"

namespace hvd::coordinator {

std::uint32_t traced_name(trace::Recorder& recorder, const Request& request) {
  const Key& key = request.key;
  const char* const operation = describe(request.kind).name;
  std::string text =
      request.once ? absl::StrCat(operation, ".noname") : key.name;
  if (key.process_set != kGlobalSet) {
    absl::StrAppend(&text, " (process set ", key.process_set, ")");
  }
  return recorder.name(operation, text);
}

// A submission in flight owns itself, so release it if the queue was never
// closed.
TensorQueue::~TensorQueue() {
  std::vector<SubmissionPtr> left;
  MutexLock lock(mutex_);
  for (const Entry& entry : names_) {
    QueuedName& name = entry.name();
    if (claim(name)) left.push_back(std::move(name.holder->in_flight));
  }
}

QueuedName* TensorQueue::look_up(const Key& key) {
  const HashedKey hashed(key);
  MutexLock lock(mutex_);
  if (names_.size() >= most_names_ && closed_.ok()) {
    absl::erase_if(names_, [](const Entry& entry) {
      return entry.name().users.load() == 0;
    });
    most_names_ = std::max(most_names_, 2 * names_.size());
  }
  const auto place = names_.lazy_emplace(
      hashed, [&](const auto& construct) { construct(key, hashed.hash()); });
  QueuedName& name = place->name();
  name.users.fetch_add(1);
  return &name;
}

// Removes a name that is not kept.
void TensorQueue::forget(const Key& key) {
  MutexLock lock(mutex_);
  const auto found = names_.find(key);
  if (found != names_.end() && found->name().users.load() == 0) {
    names_.erase(found);
  }
}

void TensorQueue::keep_name(Submission& submission) {
  submission.name = look_up(submission.request.key);
  submission.keeps_name = true;
}

void TensorQueue::drop_name(Submission& submission) {
  submission.keeps_name = false;
  std::exchange(submission.name, nullptr)->users.fetch_sub(1);
}

// Without memory the name is unknown in the trace. An exception would leave the
// name claimed.
void TensorQueue::trace_name(QueuedName& name,
                             const Request& request) noexcept {
  if (recorder_ == nullptr || name.traced_as == request.kind) return;
  name.traced_as = request.kind;
  try {
    name.traced = traced_name(*recorder_, request);
  } catch (const std::bad_alloc&) {
    name.traced = trace::kNoName;
  }
}

void TensorQueue::record(trace::EventKind kind, const Submission& submission,
                         std::uint64_t now) {
  if (recorder_ == nullptr) return;
  recorder_->write(
      kind,
      {.name = submission.name->traced, .value = submission.request.bytes()},
      now);
}

// Only the thread that owns the name writes `flight`.
void TensorQueue::begin_flight(QueuedName& name) {
  const std::uint32_t before = name.flight.load(std::memory_order_relaxed);
  name.flight.store(before + 1, std::memory_order_relaxed);
}

bool TensorQueue::claim(QueuedName& name) {
  Stage queued = Stage::kQueued;
  return name.stage.compare_exchange_strong(queued, Stage::kTaken);
}

bool TensorQueue::take_free(QueuedName& name, Stage stage) {
  Stage free = Stage::kFree;
  return !name.has_followers.load() &&
         name.stage.compare_exchange_strong(free, stage);
}

absl::StatusOr<bool> TensorQueue::push(const SubmissionPtr& submission,
                                       bool waits_at_once) {
  Submission& mine = *submission;
  if (mine.name == nullptr) mine.name = look_up(mine.request.key);
  if (!take_free(*mine.name, Stage::kClaimed)) {
    return follow(submission, *mine.name);
  }
  return put_in_flight(submission, waits_at_once);
}

absl::StatusOr<bool> TensorQueue::put_in_flight(const SubmissionPtr& submission,
                                                bool waits_at_once) {
  Submission& mine = *submission;
  QueuedName& name = *mine.name;
  name.holder = &mine;
  begin_flight(name);
  trace_name(name, mine.request);
  mine.pushed_at = now();
  record(trace::EventKind::kSubmitted, mine, mine.pushed_at);
  // A copy: a thread that closes the queue may complete the submission before
  // it is on the list.
  mine.in_flight = submission;
  const bool is_message = describe(mine.request.kind).is_message;
  name.stage.store(Stage::kQueued);
  if (is_message) has_message_.store(true);
  // Count before the push, so the count is never below the length of the list.
  const std::int64_t unsent = unsent_count_.fetch_add(1) + 1;
  Submission* first = unsent_.load();
  do {
    if (first == &closed_mark_) return refuse(name);
    mine.next = first;
  } while (!unsent_.compare_exchange_weak(first, &mine));
  // One wake-up serves all: many submissions can arrive before the thread runs,
  // and a system call for each would be too slow.
  return !waits_at_once && (is_message || unsent >= wake_at_.load()) &&
         !is_rung_for_.load() && !is_rung_for_.exchange(true);
}

absl::StatusOr<bool> TensorQueue::follow(const SubmissionPtr& submission,
                                         QueuedName& name) {
  SubmissionPtr next;
  {
    MutexLock lock(mutex_);
    if (!closed_.ok()) {
      if (!submission->keeps_name) drop_name(*submission);
      return closed_;
    }
    name.followers.push_back(submission);
    name.has_followers.store(true);
    next = next_follower(name);  // The name may have been freed meanwhile.
  }
  return next != nullptr && put_follower_in_flight(next, /*drives=*/false);
}

SubmissionPtr TensorQueue::next_follower(QueuedName& name) {
  Stage free = Stage::kFree;
  if (name.followers.empty() ||
      !name.stage.compare_exchange_strong(free, Stage::kClaimed)) {
    return nullptr;
  }
  SubmissionPtr next = std::move(name.followers.front());
  name.followers.pop_front();
  if (name.followers.empty()) name.has_followers.store(false);
  return next;
}

// A caller may have begun to wait before the submission was in flight, so the
// wait is announced again.
bool TensorQueue::put_follower_in_flight(const SubmissionPtr& follower,
                                         bool drives) {
  const Key key = follower->request.key;
  const absl::StatusOr<bool> wake = put_in_flight(follower, drives);
  if (!wake.ok()) {
    follower->done(wake.status());
    return false;
  }
  wait_for(key);
  return *wake;
}

// The driving thread frees names, and looks for news before it sleeps.
void TensorQueue::push_follower(QueuedName& name) {
  SubmissionPtr next;
  {
    MutexLock lock(mutex_);
    next = next_follower(name);
  }
  if (next != nullptr) put_follower_in_flight(next, /*drives=*/true);
}

// The thread that closed the queue may have seen and completed the submission.
absl::StatusOr<bool> TensorQueue::refuse(QueuedName& name) {
  unsent_count_.fetch_sub(1);
  if (!claim(name)) return false;
  const SubmissionPtr refused = std::move(name.holder->in_flight);
  release_one(*refused);
  return why_closed();
}

absl::Status TensorQueue::why_closed() {
  MutexLock lock(mutex_);
  return closed_;
}

// Taken submissions count as well: they may be put back, and callers do not
// repeat their wait.
std::optional<std::uint32_t> TensorQueue::flight_of(const Key& key) const {
  const auto found = names_.find(key);
  if (found == names_.end()) return std::nullopt;
  const QueuedName& name = found->name();
  const Stage stage = name.stage.load();
  if (stage != Stage::kQueued && stage != Stage::kTaken) return std::nullopt;
  return name.flight.load(std::memory_order_relaxed);
}

void TensorQueue::wait_for(const Key& key) {
  MutexLock lock(mutex_);
  const std::optional<std::uint32_t> flight = flight_of(key);
  if (!closed_.ok() || !flight) return;
  waits_.push_back({key, *flight});
  has_waits_.store(true);
}

void TensorQueue::take_changes(Changes& changes) {
  changes.unsent.clear();
  changes.waited_for.clear();
  // Read before the pushed list, which is then complete for these waits.
  if (has_waits_.load()) {
    MutexLock lock(mutex_);
    has_waits_.store(false);
    for (Wait& wait : waits_) {
      if (flight_of(wait.key) != wait.flight) continue;
      changes.waited_for.push_back(std::move(wait.key));
    }
    waits_.clear();
  }
  await(1);
  if (has_message_.load()) has_message_.store(false);
  Submission* const last = last_.load();
  for (Submission* next = unsent_.exchange(last); next != last;
       next = next->next) {
    changes.unsent.push_back(next);
  }
  std::reverse(changes.unsent.begin(), changes.unsent.end());
  unsent_count_.fetch_sub(static_cast<std::int64_t>(changes.unsent.size()));
}

SubmissionPtr TensorQueue::take_one(Submission* submission) {
  QueuedName* const name = submission == nullptr ? nullptr : submission->name;
  if (name == nullptr || name->holder != submission ||
      name->stage.load(std::memory_order_acquire) != Stage::kQueued) {
    return nullptr;
  }
  name->stage.store(Stage::kTaken, std::memory_order_relaxed);
  return std::move(submission->in_flight);
}

absl::Status TensorQueue::take(const Batch& batch,
                               std::vector<SubmissionPtr>& taken) {
  taken.clear();
  // Submissions of a closed queue may be gone.
  if (is_closed()) return why_closed();
  for (const Batch::Entry& entry : batch.entries) {
    if (!entry.submitted_here) continue;
    taken.push_back(take_one(entry.mine));
    if (taken.back() != nullptr) continue;
    taken.pop_back();
    return absl::NotFoundError(
        "a batch holds an operation that is not in flight on this rank");
  }
  return absl::OkStatus();
}

std::vector<TensorQueue::InFlight> TensorQueue::in_flight(std::size_t most) {
  std::vector<InFlight> found;
  MutexLock lock(mutex_);
  for (const Entry& entry : names_) {
    if (found.size() == most) break;
    const std::optional<std::uint32_t> flight = flight_of(entry.key());
    if (flight) found.push_back({entry.key(), *flight});
  }
  return found;
}

bool TensorQueue::holds(const Submission& submission) {
  const QueuedName* const name = submission.name;
  if (name == nullptr) return false;
  if (name->stage.load() == Stage::kQueued && name->holder == &submission) {
    return true;
  }
  MutexLock lock(mutex_);
  return std::any_of(name->followers.begin(), name->followers.end(),
                     [&](const SubmissionPtr& follower) {
                       return follower.get() == &submission;
                     });
}

void TensorQueue::release_one(Submission& submission) {
  // A submission that could not be completed may be released twice.
  if (submission.name == nullptr || submission.name->holder != &submission) {
    return;
  }
  QueuedName& name = *submission.name;
  name.holder = nullptr;
  name.stage.store(Stage::kFree);
  if (name.has_followers.load()) push_follower(name);
  if (submission.keeps_name) return;
  drop_name(submission);
  if (submission.request.once) forget(submission.request.key);
}

void TensorQueue::release(const std::vector<SubmissionPtr>& submissions) {
  for (const SubmissionPtr& submission : submissions) release_one(*submission);
}

bool TensorQueue::take_at_once(Submission& submission) {
  QueuedName* const name = submission.name;
  if (name == nullptr || !submission.keeps_name ||
      !take_free(*name, Stage::kTaken)) {
    return false;
  }
  name->holder = &submission;
  submission.pushed_at = 0;
  trace_name(*name, submission.request);
  return true;
}

void TensorQueue::leave_in_flight(const SubmissionPtr& submission) {
  QueuedName& name = *submission->name;
  begin_flight(name);
  submission->pushed_at = now();
  record(trace::EventKind::kSubmitted, *submission, submission->pushed_at);
  submission->in_flight = submission;
  name.stage.store(Stage::kQueued);
}

void TensorQueue::put_back(std::vector<SubmissionPtr> submissions) {
  if (!is_closed()) {
    for (SubmissionPtr& submission : submissions) {
      QueuedName& name = *submission->name;
      submission->in_flight = std::move(submission);
      name.stage.store(Stage::kQueued);
    }
    return;
  }
  release(submissions);
  const absl::Status why = why_closed();
  for (const SubmissionPtr& submission : submissions) submission->done(why);
}

void TensorQueue::fail(Submission* submission, const absl::Status& why) {
  if (is_closed()) return;
  const SubmissionPtr failed = take_one(submission);
  if (failed == nullptr) return;
  record(trace::EventKind::kRefused, *failed, now());
  release_one(*failed);
  failed->done(why);
}

SubmissionPtr TensorQueue::hold(const Submission& submission) {
  return submission.in_flight;
}

void TensorQueue::finish(const SubmissionPtr& held,
                         absl::StatusOr<Results> outcome) {
  if (is_closed() || take_one(held.get()) == nullptr) return;
  record(outcome.ok() ? trace::EventKind::kMessageDone
                      : trace::EventKind::kRefused,
         *held, now());
  release_one(*held);
  held->done(std::move(outcome));
}

void TensorQueue::close(const absl::Status& reason) {
  std::vector<SubmissionPtr> orphans;
  std::vector<SubmissionPtr> followers;
  absl::Status first;
  {
    MutexLock lock(mutex_);
    // A thread that finds the queue closed must also find the reason.
    // Submissions that came before are among the orphans.
    if (closed_.ok()) closed_ = reason;
    first = closed_;
    last_.store(&closed_mark_);
    unsent_.store(&closed_mark_);
    waits_.clear();
    has_waits_.store(false);
    for (const Entry& entry : names_) {
      QueuedName& name = entry.name();
      if (claim(name)) orphans.push_back(std::move(name.holder->in_flight));
      std::move(name.followers.begin(), name.followers.end(),
                std::back_inserter(followers));
      name.followers.clear();
      name.has_followers.store(false);
    }
  }
  release(orphans);
  for (const SubmissionPtr& follower : followers) {
    if (!follower->keeps_name) drop_name(*follower);
  }
  for (const SubmissionPtr& orphan : orphans) orphan->done(first);
  for (const SubmissionPtr& follower : followers) follower->done(first);
}

}  // namespace hvd::coordinator
