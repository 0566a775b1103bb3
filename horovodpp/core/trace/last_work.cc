// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/trace/last_work.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "horovodpp/core/printable.h"

namespace hvd::trace {
namespace {

constexpr std::size_t kMaxNames = 3;
constexpr std::size_t kMaxNameBytes = 40;

std::string shortened(std::string text) {
  if (text.size() > kMaxNameBytes) {
    text.resize(kMaxNameBytes);
    text += "…";
  }
  return printable(text);
}

std::string time_text(std::uint64_t nanoseconds) {
  const double seconds = static_cast<double>(nanoseconds) / 1e9;
  if (seconds >= 1) return absl::StrFormat("%.1f s", seconds);
  return absl::StrFormat("%.1f ms", seconds * 1e3);
}

std::string and_more(std::size_t more) {
  return more == 0 ? "" : absl::StrCat(" and ", more, " more");
}

// Follows the events of one rank from the oldest to the newest.
class Follower {
 public:
  Follower(const RingReader& reader, std::uint64_t now)
      : reader_(reader),
        time_(reader.began(), Moment::now(reader.by_counter())),
        now_(now) {}

  void add(const Event& event);
  std::string describe(bool is_over) const;

 private:
  struct Waiting {
    std::uint32_t name = 0;
    std::uint64_t since = 0;  // Ticks.
  };
  struct Batch {
    std::uint64_t number = 0;
    std::uint64_t began = 0;
    std::size_t size = 0;                // Entries.
    std::vector<std::uint32_t> names{};  // Of the entries that were recorded.
    std::uint16_t plane = 0;             // Of the open call.
  };
  struct Done {
    std::optional<std::uint64_t> number{};  // Of a batch.
    std::uint32_t name = 0;                 // Of one operation.
    std::uint64_t at = 0;
  };

  void forget(std::uint32_t name);
  void end(const Batch& batch, std::uint64_t at);
  void batch_ends(const Event& event);
  std::uint64_t since(std::uint64_t ticks) const;
  std::string describe_batch(const Batch& batch, bool is_over) const;
  std::string describe_waiting(bool is_over) const;
  std::string describe_done(bool is_over) const;

  const RingReader& reader_;
  const SteadyTime time_;
  const std::uint64_t now_;
  std::vector<Waiting> waiting_;  // The oldest first.
  std::optional<Batch> batch_;
  std::optional<Batch> on_gpu_;
  std::optional<Done> done_;
  // When the job broke: later events tell no more of the work.
  std::optional<std::uint64_t> broken_;
  bool has_left_ = false;
};

void Follower::add(const Event& event) {
  if (event.kind == EventKind::kJobBegins) {
    waiting_.clear();
    batch_.reset();
    on_gpu_.reset();
    done_.reset();
    broken_.reset();
    has_left_ = false;
  }
  if (broken_) return;
  switch (event.kind) {
    case EventKind::kJobBegins:
      break;
    case EventKind::kJobBreaks:
      broken_ = event.ticks;
      break;
    case EventKind::kJobEnds:
      has_left_ = true;
      break;
    case EventKind::kSubmitted:
      waiting_.push_back({event.name, event.ticks});
      break;
    case EventKind::kRefused:
    case EventKind::kMessageDone:
      forget(event.name);
      break;
    case EventKind::kBatchBegins:
      batch_ = {
          .number = event.value, .began = event.ticks, .size = event.name};
      break;
    case EventKind::kBatchEntry:
      forget(event.name);
      if (batch_) batch_->names.push_back(event.name);
      break;
    case EventKind::kCallBegins:
      if (batch_) batch_->plane = event.label;
      break;
    case EventKind::kCallEnds:
      if (batch_) batch_->plane = kNoName;
      break;
    case EventKind::kBatchEnds:
      batch_ends(event);
      break;
    case EventKind::kWorkEnds:
      if (!on_gpu_ || on_gpu_->number != event.value) break;
      end(*std::exchange(on_gpu_, std::nullopt), event.ticks);
      break;
    case EventKind::kDoneAtOnce:
      done_ = {.name = event.name, .at = event.ticks};
      break;
    case EventKind::kAwaited:
    case EventKind::kStepEnds:
    case EventKind::kSpanBegins:
    case EventKind::kSpanEnds:
      break;
  }
}

void Follower::forget(std::uint32_t name) {
  const auto found =
      std::find_if(waiting_.begin(), waiting_.end(),
                   [&](const Waiting& one) { return one.name == name; });
  if (found != waiting_.end()) waiting_.erase(found);
}

// Not all entries of a long batch are recorded. The others are taken for the
// oldest submissions before it.
void Follower::end(const Batch& batch, std::uint64_t at) {
  std::size_t more = batch.size - std::min(batch.size, batch.names.size());
  auto last = waiting_.begin();
  while (more > 0 && last != waiting_.end() && last->since < batch.began) {
    ++last;
    --more;
  }
  waiting_.erase(waiting_.begin(), last);
  done_ = {.number = batch.number, .at = at};
}

void Follower::batch_ends(const Event& event) {
  if (!batch_) return;
  switch (static_cast<BatchEnd>(event.detail)) {
    case BatchEnd::kDone:
      end(*std::exchange(batch_, std::nullopt), event.ticks);
      break;
    case BatchEnd::kGoesOnOnGpu:
      on_gpu_ = std::exchange(batch_, std::nullopt);
      break;
    case BatchEnd::kAbandoned:
      for (const std::uint32_t name : batch_->names) {
        waiting_.push_back({name, batch_->began});
      }
      batch_.reset();
      break;
    case BatchEnd::kFailed:
      broken_ = event.ticks;
      break;
  }
}

// Nanoseconds from `ticks` to the end of the work.
std::uint64_t Follower::since(std::uint64_t ticks) const {
  const std::uint64_t end = broken_ ? time_.at(*broken_) : now_;
  const std::uint64_t begin = time_.at(ticks);
  return end - std::min(end, begin);
}

std::string Follower::describe_batch(const Batch& batch, bool is_over) const {
  std::vector<std::string> names;
  std::string operation;
  for (const std::uint32_t number : batch.names) {
    if (names.size() == kMaxNames) break;
    const Name name = reader_.name(number);
    if (operation.empty()) operation = shortened(name.operation) + " ";
    names.push_back(shortened(name.text));
  }
  const std::size_t more = batch.size - std::min(batch.size, names.size());
  std::string text =
      absl::StrCat(is_over ? "was in " : "is in ", operation, "batch ",
                   low_of(batch.number), " (", absl::StrJoin(names, ", "),
                   and_more(more), ") for ", time_text(since(batch.began)));
  if (batch.plane != kNoName) {
    absl::StrAppend(&text, ", by ", shortened(reader_.name(batch.plane).text));
  }
  return text;
}

std::string Follower::describe_waiting(bool is_over) const {
  const Waiting& oldest = waiting_.front();
  const Name name = reader_.name(oldest.name);
  return absl::StrCat(
      is_over ? "waited for " : "waits for ", shortened(name.operation), " of ",
      shortened(name.text), " for ", time_text(since(oldest.since)),
      waiting_.size() == 1
          ? ""
          : absl::StrCat(", and for ", waiting_.size() - 1, " more"));
}

std::string Follower::describe_done(bool is_over) const {
  const std::string text =
      absl::StrCat(is_over ? "had" : "has", " nothing in flight");
  if (!done_) return text;
  const std::string what =
      done_->number
          ? absl::StrCat("batch, ", low_of(*done_->number))
          : absl::StrCat("operation, ",
                         shortened(reader_.name(done_->name).operation), " of ",
                         shortened(reader_.name(done_->name).text));
  return absl::StrCat(text, "; its last ", what, ", ended ",
                      time_text(since(done_->at)),
                      is_over ? " before" : " ago");
}

std::string Follower::describe(bool is_over) const {
  if (has_left_) return is_over ? "had left the job" : "has left the job";
  const bool is_past = is_over || broken_.has_value();
  std::string text = batch_              ? describe_batch(*batch_, is_past)
                     : on_gpu_           ? describe_batch(*on_gpu_, is_past)
                     : !waiting_.empty() ? describe_waiting(is_past)
                                         : describe_done(is_past);
  if (broken_) text += ", when the job broke";
  return text;
}

}  // namespace

std::string describe_work(const RingReader& reader, std::uint64_t now,
                          bool is_over) {
  Follower follower(reader, now);
  const std::uint64_t end = reader.written();
  for (std::uint64_t i = end < kSlots ? 0 : end - kSlots; i < end; ++i) {
    if (const auto event = reader.read(i)) follower.add(*event);
  }
  return follower.describe(is_over);
}

}  // namespace hvd::trace
