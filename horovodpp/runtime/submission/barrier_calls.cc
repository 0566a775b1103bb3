// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/submission/barrier_calls.h"

#include <atomic>
#include <deque>
#include <exception>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/thread/promise.h"

namespace hvd::runtime {

using coordinator::SubmissionPtr;

namespace {

// Whether every later barrier fails likewise.
bool is_of_the_job(const absl::Status& outcome) {
  return absl::IsAborted(outcome) || absl::IsCancelled(outcome) ||
         absl::IsFailedPrecondition(outcome);
}

}  // namespace

// The barriers of one process set.
class BarrierCalls::Line : public std::enable_shared_from_this<Line> {
 public:
  Line(ProcessSet set, std::weak_ptr<SubmissionSink> sink)
      : set_(std::move(set)), sink_(std::move(sink)) {
    submission_.request.kind = coordinator::RequestKind::kBarrier;
    submission_.request.key = {.process_set = set_.id(),
                               .name = "barrier.noname"};
    submission_.done = [this](absl::StatusOr<coordinator::Results>&& outcome) {
      end(outcome.status());
    };
    if (const auto here = sink_.lock()) here->expect_more(submission_);
  }
  ~Line() {
    if (const auto here = sink_.lock()) here->expect_no_more(submission_);
  }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  const ProcessSet& set() const { return set_; }

  absl::Status admit(SetTable& sets) {
    const std::uint64_t changes = sets.changes();
    if (admitted_.load() == changes) return absl::OkStatus();
    HVD_RETURN_IF_ERROR(sets.admit(set_, submission_.request));
    admitted_.store(changes);
    return absl::OkStatus();
  }

  Future<void> begin() {
    Promise<void> promise = new_promise();
    Future<void> future = promise.future();
    {
      MutexLock lock(mutex_);
      line_.emplace_back(std::move(promise));
      if (std::exchange(is_busy_, true)) return future;
    }
    submit(&SubmissionSink::submit);
    return future;
  }

  std::optional<Status> run_at_once() {
    const auto here = sink_.lock();
    if (here == nullptr) return std::nullopt;
    {
      MutexLock lock(mutex_);
      if (std::exchange(is_busy_, true)) return std::nullopt;
      is_tried_ = true;
    }
    Future<void> begun;
    const SubmissionPtr submission(shared_from_this(), &submission_);
    const Quick quick = here->try_at_once(submission, [&] {
      Promise<void> promise = new_promise();
      begun = promise.future();
      MutexLock lock(mutex_);
      line_.emplace_front(std::move(promise));
      is_tried_ = false;
    });
    if (quick == Quick::kBegun) return begun.wait();
    go_on();
    if (quick == Quick::kNot) return std::nullopt;
    return Status();
  }

  // Queues `submission` behind this set's waiting barriers. False if there are
  // none.
  bool take_behind(const SubmissionPtr& submission) {
    MutexLock lock(mutex_);
    const std::size_t items = line_.size() + (is_tried_ ? 1 : 0);
    if (items < 2) return false;
    line_.emplace_back(submission);
    return true;
  }

 private:
  // A barrier, or a submission that waits behind earlier barriers.
  using Item = std::variant<Promise<void>, SubmissionPtr>;

  Promise<void> new_promise() {
    return Promise<void>([line = weak_from_this()](const Ready& ready) {
      if (const auto here = line.lock()) here->wait_for(ready);
    });
  }

  // Submits the calls that arrived while a barrier was tried at once.
  void go_on() {
    {
      MutexLock lock(mutex_);
      is_tried_ = false;
      is_busy_ = !line_.empty();
      if (!is_busy_) return;
    }
    submit(&SubmissionSink::submit_for_another);
  }

  // Submits the first barrier of the line.
  void submit(void (SubmissionSink::*as)(const SubmissionPtr&)) {
    const SubmissionPtr submission(shared_from_this(), &submission_);
    const auto here = sink_.lock();
    if (here == nullptr) {
      return end(absl::FailedPreconditionError(
          "this rank has left the job before the barrier was submitted"));
    }
    (*here.*as)(submission);
    // A thread that waits for a later barrier announced that during an earlier
    // one; announce it for this one, too.
    if (is_awaited_.load()) here->wait_for(submission, nullptr);
  }

  void wait_for(const Ready& ready) {
    is_awaited_.store(true);
    announce_wait(sink_, SubmissionPtr(shared_from_this(), &submission_),
                  ready);
  }

  void end(const absl::Status& outcome) {
    const auto kept = shared_from_this();
    std::vector<Item> ended;
    bool goes_on = false;
    {
      MutexLock lock(mutex_);
      if (line_.empty()) return;  // It was refused before.
      do {
        ended.push_back(std::move(line_.front()));
        line_.pop_front();
      } while (!line_.empty() &&
               (is_of_the_job(outcome) ||
                std::holds_alternative<SubmissionPtr>(line_.front())));
      goes_on = is_busy_ = !line_.empty();
      if (!goes_on) is_awaited_.store(false);
    }
    for (Item& item : ended) {
      if (auto* const other = std::get_if<SubmissionPtr>(&item)) {
        if (const auto here = sink_.lock()) here->submit(*other);
      }
    }
    if (goes_on) submit(&SubmissionSink::submit_for_another);
    for (Item& item : ended) {
      if (auto* const promise = std::get_if<Promise<void>>(&item)) {
        resolve(*promise, outcome);
      }
    }
  }

  void resolve(const Promise<void>& promise,
               const absl::Status& outcome) const {
    try {
      promise.set(outcome);
    } catch (const std::exception& e) {
      report(e.what());
    } catch (...) {
      report("not a std::exception");
    }
  }

  void report(const char* what) const {
    if (const auto here = sink_.lock()) here->callback_threw(what);
  }

  const ProcessSet set_;
  const std::weak_ptr<SubmissionSink> sink_;
  coordinator::Submission submission_;
  std::atomic<std::uint64_t> admitted_{~std::uint64_t{0}};  // Of the set table.
  std::atomic<bool> is_awaited_{false};
  Mutex mutex_;
  std::deque<Item> line_ ABSL_GUARDED_BY(mutex_);  // The first is in flight.
  bool is_busy_ ABSL_GUARDED_BY(mutex_) = false;
  // A barrier that is not in the line is in flight.
  bool is_tried_ ABSL_GUARDED_BY(mutex_) = false;
};

std::shared_ptr<BarrierCalls::Line> BarrierCalls::line_of(
    const ProcessSet& set) {
  MutexLock lock(mutex_);
  std::shared_ptr<Line>& line = lines_[set.id()];
  // A number may be reused for a set of other ranks.
  if (line == nullptr || !(line->set() == set)) {
    line = std::make_shared<Line>(set, sink_);
  }
  return line;
}

Future<void> BarrierCalls::begin(const ProcessSet& set) {
  const absl::Status here = sets_.home().check();
  if (!here.ok()) return Future<void>::ready(here);
  const std::shared_ptr<Line> line = line_of(set);
  const absl::Status admitted = line->admit(sets_);
  if (!admitted.ok()) return Future<void>::ready(admitted);
  return line->begin();
}

std::optional<Status> BarrierCalls::run_at_once(const ProcessSet& set) {
  if (!sets_.home().is_here()) return std::nullopt;
  const std::shared_ptr<Line> line = line_of(set);
  if (!line->admit(sets_).ok()) return std::nullopt;
  return line->run_at_once();
}

void BarrierCalls::submit_behind(coordinator::ProcessSetId id,
                                 const SubmissionPtr& submission) {
  std::shared_ptr<Line> line;
  {
    MutexLock lock(mutex_);
    const auto found = lines_.find(id);
    if (found != lines_.end()) line = found->second;
  }
  if (line != nullptr && line->take_behind(submission)) return;
  if (const auto here = sink_.lock()) here->submit(submission);
}

}  // namespace hvd::runtime
