// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/submission/named_calls.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <utility>

#include "horovodpp/core/status.h"
#include "horovodpp/core/thread/futex_word.h"

namespace hvd::runtime {

using coordinator::Key;
using coordinator::Request;
using coordinator::Submission;
using coordinator::SubmissionPtr;

namespace {

// Prefetches all cache lines of `object` at once, for a caller that visits
// objects in turn.
template <typename T>
void prefetch_all(const T* object) {
  constexpr std::size_t kLine = 64;
  const char* const first = reinterpret_cast<const char*>(object);
  for (std::size_t at = 0; at < sizeof(T); at += kLine) {
    __builtin_prefetch(first + at);
  }
}

}  // namespace

class NamedCalls::Call final : public Waiter,
                               public std::enable_shared_from_this<Call> {
 public:
  Call(Submission&& built, ProcessSet set, std::weak_ptr<SubmissionSink> sink)
      : submission_(std::move(built)),
        set_(std::move(set)),
        sink_(std::move(sink)) {
    submission_.done = [this](absl::StatusOr<coordinator::Results>&& outcome) {
      end(outcome.status());
    };
    if (const auto here = sink_.lock()) here->expect_more(submission_);
  }
  ~Call() {
    if (const auto here = sink_.lock()) here->expect_no_more(submission_);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  const Key& key() const { return submission_.request.key; }
  const ProcessSet& set() const { return set_; }
  Submission& submission() { return submission_; }

  bool is_like(const TensorView& tensor,
               const AllreduceOptions& options) const {
    const Request& request = submission_.request;
    return request.kind == coordinator::RequestKind::kAllreduce &&
           request.op == options.op &&
           request.prescale == options.prescale_factor &&
           request.postscale == options.postscale_factor &&
           request.average_of_participants == options.average_of_participants &&
           request.device == tensor.device() &&
           request.tensors.front().dtype == tensor.dtype() &&
           request.tensors.front().shape == tensor.shape() &&
           set_ == options.process_set;
  }

  // Claims the call until it has ended, or until leave(). False if it is not
  // free.
  bool claim() {
    if (stage_.load(std::memory_order_acquire) != Stage::kFree) return false;
    stage_.store(Stage::kUnderWay, std::memory_order_relaxed);
    return true;
  }
  void leave() { stage_.store(Stage::kFree, std::memory_order_release); }
  bool is_under_way() const { return stage_.load() == Stage::kUnderWay; }

  // The state of the set table at admission. For the thread that has claimed
  // the call.
  std::uint64_t admitted = 0;
  // Used since the last search for unused calls. Under the lock.
  bool is_recent = true;

  // The call that followed this one the last time, valid while no call has been
  // dropped since. Under the lock.
  Call* next = nullptr;
  std::uint64_t next_is_as_of = 0;

  void take(const TensorView& tensor) {
    if (submission_.outputs.empty() ||
        submission_.outputs.front().data() != tensor.data()) {
      submission_.inputs.assign(1, tensor);
      submission_.outputs.assign(1, tensor);
    }
  }

  // Returns the future of the coming submission. `mine` is this call.
  Future<void> begin(std::shared_ptr<Call> mine,
                     std::shared_ptr<const void> keep_alive) {
    const IfDropped if_dropped =
        keep_alive == nullptr ? IfDropped::kWait : IfDropped::kNothing;
    keep_alive_ = std::move(keep_alive);
    // Reuse the state of the last time if no future refers to it. Futures of
    // the state, and a thread that sets it, own this call.
    if (mine.use_count() <= kOwnersOfOneAtRest && !state_.has_futures()) {
      state_.renew(*this, if_dropped);
      sets_own_ = true;
      return Promise<void>::future_of(StatePtr(std::move(mine), &state_));
    }
    promise_.emplace(
        waiter_for(sink_, SubmissionPtr(std::move(mine), &submission_)),
        if_dropped);
    return promise_->future();
  }

  void wait(const Ready& ready) override {
    announce_wait(sink_, SubmissionPtr(shared_from_this(), &submission_),
                  ready);
  }

 private:
  enum class Stage : std::uint8_t { kFree, kUnderWay, kFailed };
  using StatePtr = std::shared_ptr<hvd::internal::FutureStateOf<void>>;

  // The table, the caller, and begin().
  static constexpr long kOwnersOfOneAtRest = 3;

  // The caller holds a reference that keeps this call alive.
  void end(const absl::Status& outcome) {
    if (!promise_ && !sets_own_) return;  // It was refused before.
    const auto promise = std::exchange(promise_, std::nullopt);
    const bool own = std::exchange(sets_own_, false);
    // Released after the callbacks have run.
    const std::shared_ptr<const void> kept = std::move(keep_alive_);
    // A callback may make the next call of this name.
    stage_.store(outcome.ok() ? Stage::kFree : Stage::kFailed,
                 std::memory_order_release);
    try {
      own ? state_.set(outcome) : promise->set(outcome);
    } catch (const std::exception& e) {
      report(e.what());
    } catch (...) {
      report("not a std::exception");
    }
    // The owner's destructor is foreign code: flush first.
    if (kept != nullptr) WakeTogether::flush();
  }

  void report(const char* what) const {
    if (const auto inside = sink_.lock()) inside->callback_threw(what);
  }

  Submission submission_;
  const ProcessSet set_;
  const std::weak_ptr<SubmissionSink> sink_;
  std::atomic<Stage> stage_{Stage::kUnderWay};  // A new call starts at once.
  // Receives the outcome, unless it was in use; then a promise does.
  hvd::internal::FutureStateOf<void> state_{nullptr, IfDropped::kNothing};
  bool sets_own_ = false;
  std::optional<Promise<void>> promise_;
  std::shared_ptr<const void> keep_alive_;
};

NamedCalls::Kept::Kept(std::shared_ptr<Call> call)
    : call_(std::move(call)), hash_(coordinator::KeyHash()(call_->key())) {}

const Key& NamedCalls::Kept::key() const { return call_->key(); }

bool NamedCalls::KeyEqual::operator()(const Kept& kept,
                                      const auto& other) const {
  prefetch_all(kept.call().get());
  return kept.key() == coordinator::KeyEqual::key_of(other);
}

std::optional<Future<void>> NamedCalls::repeat(const TensorView& tensor,
                                               AllreduceOptions& options) {
  std::shared_ptr<Call> call = claim(tensor, options);
  if (call == nullptr) return std::nullopt;
  const absl::Status admitted = admit(*call);
  if (!admitted.ok()) return Future<void>::ready(admitted);
  return start(std::move(call), tensor, std::move(options.keep_alive));
}

std::optional<Status> NamedCalls::run(const TensorView& tensor,
                                      AllreduceOptions& options) {
  const std::shared_ptr<Call> call = claim(tensor, options);
  if (call == nullptr) return std::nullopt;
  HVD_RETURN_IF_ERROR(admit(*call));
  call->take(tensor);
  Future<void> begun;
  const Quick quick = sink_.try_at_once(
      SubmissionPtr(call, &call->submission()),
      [&] { begun = call->begin(call, std::move(options.keep_alive)); });
  if (quick == Quick::kBegun) return begun.wait();
  if (quick == Quick::kNot) {
    return start(call, tensor, std::move(options.keep_alive)).wait();
  }
  call->leave();
  return Status();
}

// A refused call becomes free again.
absl::Status NamedCalls::admit(Call& call) {
  const std::uint64_t changes = sets_.changes();
  if (call.admitted == changes) return absl::OkStatus();
  const absl::Status admitted =
      sets_.admit(call.set(), call.submission().request);
  if (admitted.ok()) {
    call.admitted = changes;
  } else {
    call.leave();
  }
  return admitted;
}

std::shared_ptr<NamedCalls::Call> NamedCalls::claim(const TensorView& tensor,
                                                    AllreduceOptions& options) {
  if (options.name.empty() || tensor.data() == nullptr) return nullptr;
  if (!sets_.home().is_here()) return nullptr;  // It will be refused.
  MutexLock lock(mutex_);
  Call* const call = find(options);
  if (call == nullptr || !call->is_like(tensor, options) || !call->claim()) {
    return nullptr;
  }
  call->is_recent = true;
  return call->shared_from_this();
}

// Tries the call that followed the last one: programs usually repeat their
// order.
NamedCalls::Call* NamedCalls::find(AllreduceOptions& options) {
  Call* const before = std::exchange(last_, nullptr);
  if (before != nullptr && before->next_is_as_of == drops_) {
    const Key& key = before->next->key();
    if (key.process_set == options.process_set.id() &&
        key.name == options.name) {
      return last_ = before->next;
    }
  }
  Key key = {.process_set = options.process_set.id(),
             .name = std::move(options.name)};
  const auto found = calls_.find(key);
  options.name = std::move(key.name);
  if (found == calls_.end()) return nullptr;
  last_ = found->call().get();
  if (before != nullptr) {
    before->next = last_;
    before->next_is_as_of = drops_;
  }
  return last_;
}

Future<void> NamedCalls::make(Submission&& built, const ProcessSet& set,
                              const TensorView& tensor) {
  const std::uint64_t changes = sets_.changes();
  std::shared_ptr<const void> keep_alive = std::move(built.keep_alive);
  auto call = std::allocate_shared<Call>(SlabAllocator<Call>(slab_),
                                         std::move(built), set, key_);
  call->admitted = changes;
  keep(call);
  return start(std::move(call), tensor, std::move(keep_alive));
}

// A call in flight stays: the new one receives its outcome, too.
void NamedCalls::keep(const std::shared_ptr<Call>& call) {
  const Kept kept(call);
  std::optional<Kept> before;  // Released after the lock.
  MutexLock lock(mutex_);
  if (calls_.size() >= most_) drop_unused();
  const auto [place, is_new] = calls_.insert(kept);
  if (is_new || place->call()->is_under_way()) return;
  forget_order();
  before = *place;
  calls_.erase(place);
  calls_.insert(kept);
}

// Invalidates `next` and `last_`, whose calls may be dropped.
void NamedCalls::forget_order() {
  ++drops_;
  last_ = nullptr;
}

void NamedCalls::drop_unused() {
  forget_order();
  absl::erase_if(calls_, [](const auto& entry) {
    return !std::exchange(entry.call()->is_recent, false) &&
           !entry.call()->is_under_way();
  });
  most_ = std::max(most_, 2 * calls_.size());
}

Future<void> NamedCalls::start(std::shared_ptr<Call> call,
                               const TensorView& tensor,
                               std::shared_ptr<const void> keep_alive) {
  call->take(tensor);
  Future<void> future = call->begin(call, std::move(keep_alive));
  Submission& submission = call->submission();
  sink_.submit(SubmissionPtr(std::move(call), &submission));
  return future;
}

}  // namespace hvd::runtime
