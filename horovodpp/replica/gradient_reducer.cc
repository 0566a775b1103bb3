// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/replica/gradient_reducer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/core/future.h"
#include "horovodpp/core/mutex.h"
#include "horovodpp/core/status.h"
#include "horovodpp/replica/gradient_pieces.h"
#include "horovodpp/replica/gradient_sender.h"
#include "horovodpp/replica/rows_exchange.h"
#include "horovodpp/runtime/runtime.h"

namespace hvd::replica {
namespace {

// What there is to know of one gradient in one step.
struct Record {
  int expected = 1;  // Contributions.
  int came = 0;      // Of them.
  bool is_added = false;
  TensorView gradient = {};  // Of a group that is not complete.
  std::shared_ptr<Sent> sent = nullptr;
  std::shared_ptr<const void> owner = nullptr;
  std::optional<std::size_t> group = std::nullopt;
  std::string name = {};  // As peers see it, once it is sent by itself.

  int owed() const { return is_added ? 0 : expected - came; }
};

[[noreturn]] void refuse_second(const std::string& key) {
  throw Error(absl::AlreadyExistsError(absl::StrCat(
      "the gradient of '", key,
      "' was handed over twice in one step; finish() the step first")));
}

}  // namespace

class GradientReducer::State {
 public:
  State(Runtime& runtime, ReducerOptions options)
      : sender_(runtime, std::move(options)) {
    make_groups();
  }

  void expect(const std::string& key, int contributions);
  bool contribute(const std::string& key);
  int owed(const std::string& key) const;
  void add(const std::string& key, TensorView gradient,
           std::shared_ptr<const void> keep_alive);
  void add(const TensorView& buffer, const std::vector<GradientPiece>& pieces,
           const std::shared_ptr<const void>& keep_alive);
  void add_rows(const std::string& key, const Rows& rows,
                std::shared_ptr<GatheredRows> result);
  absl::StatusOr<std::shared_ptr<Runtime>> job() const { return sender_.job(); }
  bool has(const std::string& key) const;
  bool is_pending() const;
  std::vector<double> sum(const std::string& key,
                          std::vector<double> values) const;
  std::vector<std::int64_t> gather(
      const std::string& key, const std::vector<std::int64_t>& numbers) const;
  int rank() const { return sender_.rank(); }
  int num_ranks() const { return sender_.num_ranks(); }
  ReducerStats stats() const;
  std::vector<std::shared_ptr<const void>> finish();
  void discard();

 private:
  // Found again at the same place.
  using Records = std::unordered_map<std::string, Record>;
  using Entry = Records::value_type;
  struct Pending {
    Entry* entry;
    std::shared_ptr<Sent> sent;
  };
  struct Group {
    std::vector<Entry*> members;
    const ScatteredGroup* scattered = nullptr;  // Or null.
    std::size_t added = 0;
    bool is_sent = false;
  };

  void make_groups();
  void add_group(const std::vector<std::string>& keys,
                 const ScatteredGroup* scattered = nullptr)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void leave_group(Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  void check_not_added(const std::string& key) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void start(Runtime& runtime, Entry& entry, TensorView gradient,
             std::shared_ptr<const void> keep_alive)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void send_group(Runtime& runtime, Group& group)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void send(Runtime& runtime, Entry& entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void send(Runtime& runtime, const std::vector<Entry*>& entries)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void flush_groups();
  std::vector<Pending> take_pending(bool sent_only);
  void reset(const std::vector<Pending>& pending,
             std::vector<std::shared_ptr<const void>>* owners);

  const ReducerOptions& options() const { return sender_.options(); }

  mutable Mutex mutex_;
  GradientSender sender_;  // Sends under the lock.
  Records records_ ABSL_GUARDED_BY(mutex_);
  std::vector<Group> groups_ ABSL_GUARDED_BY(mutex_);
  // What was added, in that order.
  std::vector<Entry*> added_ ABSL_GUARDED_BY(mutex_);
};

void GradientReducer::State::make_groups() {
  MutexLock lock(mutex_);
  for (const std::vector<std::string>& keys : options().groups) {
    if (!keys.empty()) add_group(keys);
  }
  for (const ScatteredGroup& scattered : options().scattered) {
    if (!scattered.keys.empty()) add_group(scattered.keys, &scattered);
  }
}

void GradientReducer::State::add_group(const std::vector<std::string>& keys,
                                       const ScatteredGroup* scattered) {
  Group& group = groups_.emplace_back();
  group.scattered = scattered;
  for (const std::string& key : keys) {
    Entry& entry = *records_.try_emplace(key).first;
    if (entry.second.group.has_value()) {
      throw Error(absl::InvalidArgumentError(
          absl::StrCat("A parameter can only appear once in groups. '", key,
                       "' appears twice")));
    }
    entry.second.group = groups_.size() - 1;
    group.members.push_back(&entry);
  }
}

void GradientReducer::State::expect(const std::string& key, int contributions) {
  if (contributions < 1) {
    throw Error(absl::InvalidArgumentError(
        absl::StrCat("the gradient of '", key, "' is to have ", contributions,
                     " contributions; it must have at least 1")));
  }
  MutexLock lock(mutex_);
  records_[key].expected = contributions;
}

bool GradientReducer::State::contribute(const std::string& key) {
  MutexLock lock(mutex_);
  Record& record = records_[key];
  if (record.owed() <= 0) {
    throw Error(absl::FailedPreconditionError(absl::StrCat(
        "the gradient of '", key, "' has had ", record.came,
        " contributions in this step", record.is_added ? ", was added" : "",
        " and gets one more, where ", record.expected,
        " were expected; finish() the step first, or expect() more")));
  }
  ++record.came;
  return record.owed() == 0;
}

int GradientReducer::State::owed(const std::string& key) const {
  MutexLock lock(mutex_);
  const auto found = records_.find(key);
  return found == records_.end() ? 1 : found->second.owed();
}

void GradientReducer::State::check_not_added(const std::string& key) const {
  const auto found = records_.find(key);
  if (found != records_.end() && found->second.is_added) refuse_second(key);
}

void GradientReducer::State::start(Runtime& runtime, Entry& entry,
                                   TensorView gradient,
                                   std::shared_ptr<const void> keep_alive) {
  Record& record = entry.second;
  record.gradient = std::move(gradient);
  record.owner = std::move(keep_alive);
  record.is_added = true;
  added_.push_back(&entry);
  Group* const group =
      record.group.has_value() ? &groups_[*record.group] : nullptr;
  if (group == nullptr || group->is_sent) {
    send(runtime, entry);
  } else if (++group->added == group->members.size()) {
    send_group(runtime, *group);
  }
}

// Those of its members that have been added, in the group's order.
void GradientReducer::State::send_group(Runtime& runtime, Group& group) {
  std::vector<Entry*> entries;
  for (Entry* member : group.members) {
    if (member->second.is_added) entries.push_back(member);
  }
  group.is_sent = true;
  if (group.scattered == nullptr) return send(runtime, entries);
  const auto sent = sender_.send(runtime, *group.scattered);
  for (Entry* entry : entries) entry->second.sent = sent;
}

void GradientReducer::State::send(Runtime& runtime, Entry& entry) {
  Record& record = entry.second;
  if (record.name.empty()) record.name = sender_.name_of(entry.first);
  record.sent = sender_.send(
      runtime, {entry.first, std::move(record.gradient), record.owner},
      record.name);
}

void GradientReducer::State::send(Runtime& runtime,
                                  const std::vector<Entry*>& entries) {
  if (entries.size() == 1) return send(runtime, *entries.front());
  std::vector<Outgoing> gradients;
  for (const Entry* entry : entries) {
    gradients.push_back(
        {entry->first, entry->second.gradient, entry->second.owner});
  }
  const auto sent = sender_.send(runtime, std::move(gradients));
  for (Entry* entry : entries) entry->second.sent = sent;
}

void GradientReducer::State::add(const std::string& key, TensorView gradient,
                                 std::shared_ptr<const void> keep_alive) {
  const std::shared_ptr<Runtime> runtime = value_or_throw(job());
  MutexLock lock(mutex_);
  Entry& entry = *records_.try_emplace(key).first;
  if (entry.second.is_added) refuse_second(key);
  start(*runtime, entry, std::move(gradient), std::move(keep_alive));
}

void GradientReducer::State::add(
    const TensorView& buffer, const std::vector<GradientPiece>& pieces,
    const std::shared_ptr<const void>& keep_alive) {
  check_pieces(pieces, buffer.num_elements());
  const std::shared_ptr<Runtime> runtime = value_or_throw(job());
  MutexLock lock(mutex_);
  for (const GradientPiece& piece : pieces) check_not_added(piece.key);
  for (const GradientPiece& piece : pieces) {
    start(*runtime, *records_.try_emplace(piece.key).first,
          view_of(buffer, piece), keep_alive);
  }
}

void GradientReducer::State::add_rows(const std::string& key, const Rows& rows,
                                      std::shared_ptr<GatheredRows> result) {
  check_rows(key, rows, options().op);
  const std::shared_ptr<Runtime> runtime = value_or_throw(job());
  MutexLock lock(mutex_);
  check_not_added(key);
  Entry& entry = *records_.try_emplace(key).first;
  // Its group does not wait for it.
  leave_group(entry);
  entry.second.owner = rows.keep_alive;
  entry.second.is_added = true;
  added_.push_back(&entry);
  entry.second.sent = sender_.send(*runtime, key, rows, std::move(result));
}

// For good: rows are its gradients' form.
void GradientReducer::State::leave_group(Entry& entry) {
  if (!entry.second.group.has_value()) return;
  std::vector<Entry*>& members = groups_[*entry.second.group].members;
  members.erase(std::find(members.begin(), members.end(), &entry));
  entry.second.group = std::nullopt;
}

bool GradientReducer::State::has(const std::string& key) const {
  MutexLock lock(mutex_);
  const auto found = records_.find(key);
  return found != records_.end() && found->second.is_added;
}

bool GradientReducer::State::is_pending() const {
  MutexLock lock(mutex_);
  return !added_.empty();
}

// A parameter of a group may be frozen, on all ranks alike.
void GradientReducer::State::flush_groups() {
  const absl::StatusOr<std::shared_ptr<Runtime>> runtime = job();
  MutexLock lock(mutex_);
  for (Group& group : groups_) {
    if (group.added == 0 || group.is_sent) continue;
    throw_if_error(runtime.status());
    send_group(**runtime, group);
  }
}

// What was added so far. Contributions that come from now on are the next step's.
std::vector<GradientReducer::State::Pending>
GradientReducer::State::take_pending(bool sent_only) {
  MutexLock lock(mutex_);
  std::vector<Pending> pending;
  std::vector<Entry*> later;
  for (Entry* entry : added_) {
    if (sent_only && entry->second.sent == nullptr) {
      later.push_back(entry);
    } else {
      pending.push_back({entry, entry->second.sent});
    }
  }
  added_ = std::move(later);
  for (auto& [key, record] : records_) {
    if (!record.is_added) record.came = 0;
  }
  return pending;
}

void GradientReducer::State::reset(
    const std::vector<Pending>& pending,
    std::vector<std::shared_ptr<const void>>* owners) {
  MutexLock lock(mutex_);
  for (const Pending& each : pending) {
    Record& record = each.entry->second;
    if (owners != nullptr) owners->push_back(std::move(record.owner));
    if (record.group.has_value()) {
      Group& group = groups_[*record.group];
      group.added = 0;
      group.is_sent = false;
    }
    record.came = 0;
    record.is_added = false;
    record.gradient = TensorView();
    record.sent = nullptr;
    record.owner = nullptr;
  }
}

std::vector<std::shared_ptr<const void>> GradientReducer::State::finish() {
  flush_groups();
  const std::vector<Pending> pending = take_pending(/*sent_only=*/true);
  // All are waited for, whatever becomes of the first: their memory is
  // borrowed.
  absl::Status first;
  for (const auto& [entry, sent] : pending) sent->advance();
  for (const auto& [entry, sent] : pending) {
    const absl::Status status = sent->wait();
    if (first.ok()) {
      first =
          annotate(status, absl::StrCat("gradient of '", entry->first, "'"));
    }
  }
  std::vector<std::shared_ptr<const void>> owners;
  reset(pending, &owners);
  throw_if_error(first);
  return owners;
}

void GradientReducer::State::discard() {
  const std::vector<Pending> pending = take_pending(/*sent_only=*/false);
  for (const Pending& each : pending) {
    // What has not been sent has no future.
    if (each.sent != nullptr) each.sent->abandon();
  }
  reset(pending, nullptr);
}

std::vector<double> GradientReducer::State::sum(
    const std::string& key, std::vector<double> values) const {
  const auto count = static_cast<std::int64_t>(values.size());
  const Future<void> done = value_or_throw(job())->allreduce_async_(
      TensorView::of(values.data(), {count}),
      {.name = absl::StrCat(options().name, ".", key),
       .op = ReduceOp::kSum,
       .process_set = options().process_set});
  throw_if_error(done.wait());
  return values;
}

std::vector<std::int64_t> GradientReducer::State::gather(
    const std::string& key, const std::vector<std::int64_t>& numbers) const {
  const auto count = static_cast<std::int64_t>(numbers.size());
  Future<Buffer> done = value_or_throw(job())->allgather_async(
      ConstTensorView::of(numbers.data(), {count}),
      {.name = absl::StrCat(options().name, ".", key),
       .process_set = options().process_set});
  const Buffer all = value_or_throw(done.take());
  const auto* first = all.data<std::int64_t>();
  return {first, first + all.num_elements()};
}

ReducerStats GradientReducer::State::stats() const {
  MutexLock lock(mutex_);
  return sender_.stats();
}

GradientReducer::GradientReducer(Runtime& runtime, ReducerOptions options)
    : state_(std::make_unique<State>(runtime, std::move(options))) {}

// The futures wait.
GradientReducer::~GradientReducer() = default;

void GradientReducer::expect(const std::string& key, int contributions) {
  state_->expect(key, contributions);
}
bool GradientReducer::contribute(const std::string& key) {
  return state_->contribute(key);
}
int GradientReducer::owed(const std::string& key) const {
  return state_->owed(key);
}

void GradientReducer::add(const std::string& key, TensorView gradient,
                          std::shared_ptr<const void> keep_alive) {
  state_->add(key, std::move(gradient), std::move(keep_alive));
}

void GradientReducer::add(const TensorView& buffer,
                          const std::vector<GradientPiece>& pieces,
                          const std::shared_ptr<const void>& keep_alive) {
  state_->add(buffer, pieces, keep_alive);
}

void GradientReducer::add_rows(const std::string& key,
                               const ConstTensorView& rows,
                               const ConstTensorView& values,
                               std::shared_ptr<GatheredRows> result,
                               std::shared_ptr<const void> keep_alive) {
  state_->add_rows(key, {rows, values, std::move(keep_alive)},
                   std::move(result));
}

Status GradientReducer::status() const { return state_->job().status(); }
bool GradientReducer::has(const std::string& key) const {
  return state_->has(key);
}
bool GradientReducer::is_pending() const { return state_->is_pending(); }
std::vector<double> GradientReducer::sum(const std::string& key,
                                         std::vector<double> values) const {
  return state_->sum(key, std::move(values));
}
std::vector<std::int64_t> GradientReducer::gather(
    const std::string& key, const std::vector<std::int64_t>& numbers) const {
  return state_->gather(key, numbers);
}
int GradientReducer::rank() const { return state_->rank(); }
int GradientReducer::num_ranks() const { return state_->num_ranks(); }
ReducerStats GradientReducer::stats() const { return state_->stats(); }
std::vector<std::shared_ptr<const void>> GradientReducer::finish() {
  return state_->finish();
}
void GradientReducer::discard() { state_->discard(); }

}  // namespace hvd::replica
