// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/replica/gradient_reducer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/compression/compressor.h"
#include "horovodpp/core/future.h"
#include "horovodpp/core/mutex.h"
#include "horovodpp/core/status.h"
#include "horovodpp/replica/rows_exchange.h"
#include "horovodpp/runtime/membership.h"
#include "horovodpp/runtime/runtime.h"

namespace hvd::replica {
namespace {

// What was sent in one go: one gradient, or a group.
struct Sent {
  Future<void> reduced = {};
  std::unique_ptr<compression::Exchange> exchange = nullptr;  // Or null.
  bool is_advanced = false;
  std::optional<absl::Status> outcome = std::nullopt;

  void advance() {
    if (exchange == nullptr || std::exchange(is_advanced, true)) return;
    const absl::Status status = exchange->advance();
    if (!status.ok()) outcome = status;
  }
  absl::Status wait() {
    if (exchange == nullptr) return reduced.wait();
    if (!outcome) outcome = exchange->finish();
    return *outcome;
  }
};

// What there is to know of one gradient in one step.
struct Record {
  int expected = 1;  // Contributions.
  int came = 0;      // Of them.
  bool is_added = false;
  TensorView gradient = {};  // Of a group that is not complete.
  std::shared_ptr<Sent> sent = nullptr;
  std::shared_ptr<const void> owner = nullptr;
  std::optional<std::size_t> group = std::nullopt;

  int owed() const { return is_added ? 0 : expected - came; }
};

[[noreturn]] void refuse_piece(const GradientPiece& piece,
                               const std::string& why) {
  throw Error(absl::InvalidArgumentError(absl::StrCat(
      "a buffer of gradients: the piece '", piece.key, "', ", piece.elements,
      " elements from ", piece.offset, " on, ", why, ". Nothing was added")));
}

// Groups that differ from rank to rank must not meet: gradients would be reduced
// with those of other parameters. So all keys are part of the name, by a hash that
// is the same everywhere (FNV-1a).
std::string group_name(const std::vector<const std::string*>& keys) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::string* key : keys) {
    // Keys end with a zero, so that "a", "bc" is not "ab", "c".
    for (std::size_t i = 0; i <= key->size(); ++i) {
      const char letter = i < key->size() ? (*key)[i] : '\0';
      hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
    }
  }
  return absl::StrCat(*keys.front(), "+", keys.size() - 1, ".",
                      absl::Hex(hash, absl::kZeroPad16));
}

// That all lie within `elements` elements, none on another, each with a key of its
// own.
void check_pieces(const std::vector<GradientPiece>& pieces,
                  std::int64_t elements) {
  std::vector<const GradientPiece*> by_offset;
  absl::flat_hash_set<std::string_view> keys;
  for (const GradientPiece& piece : pieces) {
    by_offset.push_back(&piece);
    if (piece.offset < 0 || piece.elements < 0 || piece.offset > elements ||
        piece.elements > elements - piece.offset) {
      refuse_piece(piece, absl::StrCat("does not lie within its ", elements));
    }
    if (!keys.insert(piece.key).second) {
      refuse_piece(piece, "has the key of another one; give it one of its own");
    }
  }
  std::sort(by_offset.begin(), by_offset.end(),
            [](const GradientPiece* a, const GradientPiece* b) {
              return std::pair(a->offset, a->elements) <
                     std::pair(b->offset, b->elements);
            });
  for (std::size_t i = 1; i < by_offset.size(); ++i) {
    const GradientPiece& before = *by_offset[i - 1];
    if (before.offset + before.elements <= by_offset[i]->offset) continue;
    refuse_piece(*by_offset[i],
                 absl::StrCat("shares elements with '", before.key, "'"));
  }
}

void check_rows(const std::string& key, const Rows& rows, ReduceOp op) {
  const auto refuse = [&](const std::string& why) {
    throw Error(absl::InvalidArgumentError(
        absl::StrCat("the sparse gradient of '", key, "' ", why)));
  };
  if (op != ReduceOp::kAverage && op != ReduceOp::kSum) {
    refuse(absl::StrCat("cannot be reduced with op ", name_of(op),
                        ", only with average or sum; send it as a dense one"));
  }
  const Shape& shape = rows.values.shape();
  const bool fits = rows.rows.dtype() == DType::kI64 &&
                    rows.rows.shape().rank() == 1 && shape.rank() >= 1 &&
                    shape[0] == rows.rows.num_elements();
  if (!fits) {
    refuse(absl::StrCat("has rows of ", name_of(rows.rows.dtype()),
                        rows.rows.shape().to_string(), " for values of ",
                        shape.to_string(),
                        "; each row has a number, int64[n]"));
  }
}

TensorView view_of(const TensorView& buffer, const GradientPiece& piece) {
  auto* const bytes = static_cast<std::byte*>(buffer.data());
  const std::size_t offset =
      static_cast<std::size_t>(piece.offset) * size_of(buffer.dtype());
  return {bytes + offset, buffer.dtype(), Shape({piece.elements}),
          buffer.device()};
}

}  // namespace

class GradientReducer::State {
 public:
  State(Runtime& runtime, ReducerOptions options);

  void expect(const std::string& key, int contributions);
  bool contribute(const std::string& key);
  int owed(const std::string& key) const;
  void add(const std::string& key, TensorView gradient,
           std::shared_ptr<const void> keep_alive);
  void add(const TensorView& buffer, const std::vector<GradientPiece>& pieces,
           const std::shared_ptr<const void>& keep_alive);
  void add_rows(const std::string& key, const Rows& rows,
                std::shared_ptr<GatheredRows> result);
  absl::StatusOr<std::shared_ptr<Runtime>> job() const;
  bool has(const std::string& key) const;
  bool is_pending() const;
  std::vector<double> sum(const std::string& key, std::vector<double> values);
  std::vector<std::int64_t> gather(const std::string& key,
                                   const std::vector<std::int64_t>& numbers);
  int rank() const { return rank_; }
  int num_ranks() const { return num_ranks_; }
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
    std::size_t added = 0;
    bool is_sent = false;
  };

  void make_groups();
  void leave_group(Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  void check_not_added(const std::string& key) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void start(Runtime& runtime, const std::string& key, TensorView gradient,
             std::shared_ptr<const void> keep_alive)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void send_group(Runtime& runtime, Group& group)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void send(Runtime& runtime, const std::vector<Entry*>& entries)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Future<void> reduced(Runtime& runtime, const std::vector<Entry*>& entries,
                       AllreduceOptions options);
  std::unique_ptr<compression::Exchange> compressed(
      Runtime& runtime, const std::vector<Entry*>& entries,
      const AllreduceOptions& options);
  void flush_groups();
  std::vector<Pending> take_pending(bool sent_only);
  void reset(const std::vector<Pending>& pending,
             std::vector<std::shared_ptr<const void>>* owners);

  const Membership membership_;
  const ReducerOptions options_;
  int rank_ = 0;
  int num_ranks_ = 1;
  mutable Mutex mutex_;
  Records records_ ABSL_GUARDED_BY(mutex_);
  std::vector<Group> groups_ ABSL_GUARDED_BY(mutex_);
  // What was added, in that order.
  std::vector<Entry*> added_ ABSL_GUARDED_BY(mutex_);
  ReducerStats stats_ ABSL_GUARDED_BY(mutex_);
};

GradientReducer::State::State(Runtime& runtime, ReducerOptions options)
    : membership_(runtime.membership()), options_(std::move(options)) {
  const double factor = options_.gradient_predivide_factor;
  if (!(factor > 0) || !std::isfinite(factor) || !std::isfinite(1 / factor)) {
    throw Error(absl::InvalidArgumentError(
        absl::StrCat("gradient_predivide_factor is ", factor,
                     "; it must be a positive number, and so must 1 by it")));
  }
  if (!reduce_op_from_wire(static_cast<std::uint8_t>(options_.op))) {
    throw Error(absl::InvalidArgumentError(absl::StrCat(
        "a reducer of gradients, '", options_.name, "': there is no ",
        name_of(options_.op), "; use one that ReduceOp names")));
  }
  if (factor != 1.0 && options_.op != ReduceOp::kAverage) {
    throw Error(absl::InvalidArgumentError(absl::StrCat(
        "gradient_predivide_factor goes with op average, not with op ",
        name_of(options_.op), "; leave it at 1")));
  }
  if (!(options_.scale > 0) || !std::isfinite(options_.scale)) {
    throw Error(absl::InvalidArgumentError(
        absl::StrCat("a reducer's scale is ", options_.scale,
                     "; it must be a positive number")));
  }
  if (options_.compressor != nullptr && options_.op != ReduceOp::kAverage &&
      options_.op != ReduceOp::kSum) {
    throw Error(absl::InvalidArgumentError(
        absl::StrCat("compression goes with op average or sum, not with op ",
                     name_of(options_.op))));
  }
  throw_if_error(job().status());
  const absl::StatusOr<int> rank = runtime.rank_in(options_.process_set);
  throw_if_error(
      annotate(rank.status(),
               absl::StrCat("a reducer of gradients, '", options_.name, "'")));
  rank_ = *rank;
  num_ranks_ = static_cast<int>(
      value_or_throw(runtime.ranks_of(options_.process_set)).size());
  make_groups();
}

void GradientReducer::State::make_groups() {
  MutexLock lock(mutex_);
  for (const std::vector<std::string>& keys : options_.groups) {
    if (keys.empty()) continue;
    Group& group = groups_.emplace_back();
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
}

absl::StatusOr<std::shared_ptr<Runtime>> GradientReducer::State::job() const {
  auto job = membership_.enter();
  if (job.ok()) return job;
  return annotate(job.status(), absl::StrCat("a reducer of gradients, '",
                                             options_.name, "'"));
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
  if (found == records_.end() || !found->second.is_added) return;
  throw Error(absl::AlreadyExistsError(absl::StrCat(
      "the gradient of '", key,
      "' was handed over twice in one step; finish() the step first")));
}

void GradientReducer::State::start(Runtime& runtime, const std::string& key,
                                   TensorView gradient,
                                   std::shared_ptr<const void> keep_alive) {
  Entry& entry = *records_.try_emplace(key).first;
  Record& record = entry.second;
  record.gradient = std::move(gradient);
  record.owner = std::move(keep_alive);
  record.is_added = true;
  added_.push_back(&entry);
  Group* const group =
      record.group.has_value() ? &groups_[*record.group] : nullptr;
  if (group == nullptr || group->is_sent) {
    send(runtime, {&entry});
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
  send(runtime, entries);
}

// All submissions of gradients are made here.
void GradientReducer::State::send(Runtime& runtime,
                                  const std::vector<Entry*>& entries) {
  const double factor = options_.gradient_predivide_factor;
  AllreduceOptions options = {.op = options_.op,
                              .prescale_factor = options_.scale / factor,
                              .postscale_factor = factor,
                              .process_set = options_.process_set};
  std::vector<const std::string*> keys;
  std::uint64_t bytes = 0;
  bool compresses = options_.compressor != nullptr && num_ranks_ > 1;
  for (const auto* entry : entries) {
    const TensorView& gradient = entry->second.gradient;
    keys.push_back(&entry->first);
    bytes += gradient.bytes();
    compresses = compresses && gradient.dtype() == DType::kF32;
  }
  options.name = absl::StrCat(
      options_.name, ".", keys.size() == 1 ? *keys.front() : group_name(keys));
  const auto sent = std::make_shared<Sent>();
  if (compresses) {
    const std::uint64_t before = options_.compressor->stats().sent_bytes;
    sent->exchange = compressed(runtime, entries, options);
    stats_.sent_bytes += options_.compressor->stats().sent_bytes - before;
  } else {
    sent->reduced = reduced(runtime, entries, std::move(options));
    stats_.sent_bytes += bytes;
  }
  for (Entry* entry : entries) entry->second.sent = sent;
  stats_.gradients += entries.size();
  stats_.bytes += bytes;
}

Future<void> GradientReducer::State::reduced(Runtime& runtime,
                                             const std::vector<Entry*>& entries,
                                             AllreduceOptions options) {
  if (entries.size() == 1) {
    Record& record = entries.front()->second;
    options.keep_alive = record.owner;
    return runtime.allreduce_async_(std::move(record.gradient),
                                    std::move(options));
  }
  std::vector<TensorView> gradients;
  auto owners = std::make_shared<std::vector<std::shared_ptr<const void>>>();
  bool all_owned = true;
  for (Entry* entry : entries) {
    gradients.push_back(std::move(entry->second.gradient));
    all_owned = all_owned && entry->second.owner != nullptr;
    owners->push_back(entry->second.owner);
  }
  // Where one is borrowed the end of the future waits for it.
  if (all_owned) options.keep_alive = std::move(owners);
  return runtime.grouped_allreduce_async_(std::move(gradients),
                                          std::move(options));
}

std::unique_ptr<compression::Exchange> GradientReducer::State::compressed(
    Runtime& runtime, const std::vector<Entry*>& entries,
    const AllreduceOptions& options) {
  std::vector<compression::Gradient> batch;
  for (Entry* entry : entries) {
    batch.push_back({entry->first, std::move(entry->second.gradient)});
  }
  const auto begin = std::chrono::steady_clock::now();
  auto exchange =
      options_.compressor->start(runtime, std::move(batch),
                                 {.name = options.name,
                                  .op = options.op,
                                  .prescale_factor = options.prescale_factor,
                                  .postscale_factor = options.postscale_factor,
                                  .process_set = options.process_set,
                                  .num_ranks = num_ranks_});
  const std::chrono::nanoseconds took =
      std::chrono::steady_clock::now() - begin;
  options_.compressor->count_start(static_cast<std::uint64_t>(took.count()));
  return exchange;
}

void GradientReducer::State::add(const std::string& key, TensorView gradient,
                                 std::shared_ptr<const void> keep_alive) {
  const std::shared_ptr<Runtime> runtime = value_or_throw(job());
  MutexLock lock(mutex_);
  check_not_added(key);
  start(*runtime, key, std::move(gradient), std::move(keep_alive));
}

void GradientReducer::State::add(
    const TensorView& buffer, const std::vector<GradientPiece>& pieces,
    const std::shared_ptr<const void>& keep_alive) {
  check_pieces(pieces, buffer.num_elements());
  const std::shared_ptr<Runtime> runtime = value_or_throw(job());
  MutexLock lock(mutex_);
  for (const GradientPiece& piece : pieces) check_not_added(piece.key);
  for (const GradientPiece& piece : pieces) {
    start(*runtime, piece.key, view_of(buffer, piece), keep_alive);
  }
}

void GradientReducer::State::add_rows(const std::string& key, const Rows& rows,
                                      std::shared_ptr<GatheredRows> result) {
  check_rows(key, rows, options_.op);
  const std::shared_ptr<Runtime> runtime = value_or_throw(job());
  result->factor = options_.op == ReduceOp::kAverage
                       ? options_.scale / num_ranks_
                       : options_.scale;
  MutexLock lock(mutex_);
  check_not_added(key);
  Entry& entry = *records_.try_emplace(key).first;
  // Its group does not wait for it.
  leave_group(entry);
  entry.second.owner = rows.keep_alive;
  entry.second.is_added = true;
  added_.push_back(&entry);
  entry.second.sent = std::make_shared<Sent>();
  entry.second.sent->exchange = std::make_unique<RowsExchange>(
      *runtime, rows,
      AllgatherOptions{.name = absl::StrCat(options_.name, ".", key),
                       .process_set = options_.process_set},
      std::move(result));
  const std::uint64_t bytes = rows.rows.bytes() + rows.values.bytes();
  ++stats_.gradients;
  stats_.bytes += bytes;
  stats_.sent_bytes += bytes;
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
    record = {.expected = record.expected, .group = record.group};
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
    if (each.sent != nullptr && each.sent->exchange == nullptr) {
      each.sent->wait().IgnoreError();
    }
  }
  reset(pending, nullptr);
}

std::vector<double> GradientReducer::State::sum(const std::string& key,
                                                std::vector<double> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  const Future<void> done = value_or_throw(job())->allreduce_async_(
      TensorView::of(values.data(), {count}),
      {.name = absl::StrCat(options_.name, ".", key),
       .op = ReduceOp::kSum,
       .process_set = options_.process_set});
  throw_if_error(done.wait());
  return values;
}

std::vector<std::int64_t> GradientReducer::State::gather(
    const std::string& key, const std::vector<std::int64_t>& numbers) {
  const auto count = static_cast<std::int64_t>(numbers.size());
  Future<Buffer> done = value_or_throw(job())->allgather_async(
      ConstTensorView::of(numbers.data(), {count}),
      {.name = absl::StrCat(options_.name, ".", key),
       .process_set = options_.process_set});
  const Buffer all = value_or_throw(done.take());
  const auto* first = all.data<std::int64_t>();
  return {first, first + all.num_elements()};
}

ReducerStats GradientReducer::State::stats() const {
  MutexLock lock(mutex_);
  return stats_;
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
                                         std::vector<double> values) {
  return state_->sum(key, std::move(values));
}
std::vector<std::int64_t> GradientReducer::gather(
    const std::string& key, const std::vector<std::int64_t>& numbers) {
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
