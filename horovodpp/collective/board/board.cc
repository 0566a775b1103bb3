// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/board/board.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"

namespace hvd::collective {
namespace {

constexpr int kKindShift = 56;
// The last threads of a process that is being killed may run for microseconds
// after its death is known.
constexpr std::chrono::milliseconds kAfterADeath(1);
constexpr std::chrono::microseconds kBetweenLooks(100);
// Looks of a call that expects all members to be there already: some
// microseconds.
constexpr int kQuickLooks = 256;
// The same where ranks share cores. A yield lets another rank run.
constexpr int kQuickYields = 4;

// Returns the options, moved into the possible range.
ShmOptions sound(ShmOptions options, int ranks) {
  constexpr std::size_t kLine = ShmBoard::kAlignment;
  constexpr std::size_t kTwoNumbers = 16;
  const std::size_t least = std::max(
      options.chunk_bytes, static_cast<std::size_t>(ranks) * kTwoNumbers);
  options.chunk_bytes = (least + kLine - 1) / kLine * kLine;
  options.small_bytes = std::min(options.small_bytes, options.chunk_bytes);
  return options;
}

// Epochs are below 2^31. The packed label is even for the
// first call of a tag.
std::uint64_t pack(const ShmBoard::Label& label) {
  return (std::uint64_t{label.tag.epoch} << 33) |
         (std::uint64_t{label.tag.sequence} << 1) | (label.second ? 1 : 0);
}

std::uint64_t pack(char kind, std::uint64_t bytes) {
  return (static_cast<std::uint64_t>(static_cast<unsigned char>(kind))
          << kKindShift) |
         bytes;
}

std::uint64_t epoch_of(std::uint64_t packed) { return packed >> 33; }

// Whether the call of label `a` comes after the call of label `b`, as far as
// labels of one epoch can tell.
bool is_later(std::uint64_t a, std::uint64_t b) {
  constexpr int kEpochBits = 31;
  return epoch_of(a) == epoch_of(b) &&
         static_cast<std::int64_t>((a - b) << kEpochBits) > 0;
}

// Wraps the interrupt of a rank that can no longer give the call up: ignores
// Cancelled.
class IgnoringCancelled : public transport::Interrupt {
 public:
  explicit IgnoringCancelled(transport::Interrupt& interrupt)
      : interrupt_(interrupt) {}
  absl::Status check() override {
    const absl::Status status = interrupt_.check();
    return absl::IsCancelled(status) ? absl::OkStatus() : status;
  }
  std::optional<std::chrono::steady_clock::time_point> verdict_due()
      const override {
    return interrupt_.verdict_due();
  }

 private:
  transport::Interrupt& interrupt_;
};

std::string kind_name(std::uint64_t kind_and_bytes) {
  switch (static_cast<char>(kind_and_bytes >> kKindShift)) {
    case 'r':
      return "an allreduce";
    case 's':
      return "a reducescatter";
    case 'g':
      return "an allgather";
    case 'b':
      return "a broadcast";
    case 'a':
      return "an alltoall";
    case 'y':
      return "an introduction of GPUs";
    default:
      return "a barrier";
  }
}

std::string describe(std::uint64_t tag, std::uint64_t kind_and_bytes) {
  const std::uint64_t bytes =
      kind_and_bytes & ((std::uint64_t{1} << kKindShift) - 1);
  return absl::StrCat(kind_name(kind_and_bytes), " of ", bytes,
                      " bytes (epoch ", epoch_of(tag), ", sequence ",
                      tag >> 1 & 0xffffffffu, ")");
}

}  // namespace

std::size_t ShmBoard::bytes_needed(int ranks, const ShmOptions& options) {
  return static_cast<std::size_t>(ranks) *
         (sizeof(Line) + sizeof(Ended) +
          kSlots * sound(options, ranks).chunk_bytes);
}

ShmBoard::ShmBoard(transport::NodeSegment& segment, std::span<std::byte> region,
                   const transport::WaitPolicy& waiting,
                   const ShmOptions& options)
    : segment_(segment),
      region_(region),
      options_(sound(options, segment.local_size())),
      crossovers_{.small_bytes = options_.small_bytes,
                  .step_bytes = options_.chunk_bytes},
      waiting_(waiting) {
  const std::size_t needed = bytes_needed(ranks(), options_);
  const auto address = reinterpret_cast<std::uintptr_t>(region.data());
  if (region.size() < needed || address % kAlignment != 0) {
    failure_ = absl::InvalidArgumentError(absl::StrCat(
        "a shared-memory board of ", ranks(), " ranks needs ", needed,
        " bytes aligned to ", kAlignment, ", and was given ", region.size(),
        " bytes at an offset of ", address % kAlignment));
  }
}

// The region holds all ranks' lines, then all ranks' ends, then all ranks'
// slots.
ShmBoard::Line& ShmBoard::line(int rank) const {
  return reinterpret_cast<Line*>(region_.data())[rank];
}

ShmBoard::Ended& ShmBoard::ended(int rank) const {
  return reinterpret_cast<Ended*>(&line(ranks()))[rank];
}

std::byte* ShmBoard::slot(int member, std::uint64_t step) const {
  const auto place = static_cast<std::size_t>(member);
  const std::size_t number = place * kSlots + (first_[place] + step) % kSlots;
  const std::size_t lines =
      static_cast<std::size_t>(ranks()) * (sizeof(Line) + sizeof(Ended));
  return region_.data() + lines + number * options_.chunk_bytes;
}

absl::Status ShmBoard::begin(std::span<const int> members, const Label& label) {
  HVD_RETURN_IF_ERROR(failure_);
  is_resumed_ = std::exchange(is_left_open_, false) && label == label_;
  if (is_resumed_) return absl::OkStatus();
  members_ = members;
  label_ = label;
  steps_ = 0;
  complete_ = false;
  return absl::OkStatus();
}

void ShmBoard::ring() const {
  for (const int member : members_) {
    if (member != rank()) segment_.doorbell(member).ring_for_data();
  }
}

void ShmBoard::arrive() {
  Line& mine = line(rank());
  const std::uint64_t first = first_[static_cast<std::size_t>(rank())];
  if (steps_ == 0) {
    Record& record = mine.records[record_];
    record.kind_and_bytes.store(pack(label_.kind, label_.bytes),
                                std::memory_order_relaxed);
    record.first.store(first, std::memory_order_relaxed);
    // A rank that sees the tag must also see the slot: after a call that was
    // given up, the counter below does not change. A vote depends on the order
    // of this store and a load of another word.
    record.tag.store(pack(label_), label_.votes ? std::memory_order_seq_cst
                                                : std::memory_order_release);
  }
  ++steps_;
  mine.arrived.store(first + steps_);
  ring_if_last(&Line::arrived, steps_ - 1);
}

bool ShmBoard::has_come(int member, Word Line::*counter, std::uint64_t step) {
  if (step == 0 && counter == &Line::arrived) return has_entered(member);
  return (line(member).*counter).load() >
         first_[static_cast<std::size_t>(member)] + step;
}

// Stores and loads are seq_cst, so the last member to arrive sees all others. A
// member that sleeps elsewhere must learn that this rank is in another call.
void ShmBoard::ring_if_last(Word Line::*counter, std::uint64_t step) {
  for (const int member : members_) {
    if (member == rank() || has_come(member, counter, step)) continue;
    if (!segment_.doorbell(member).has_readers()) return;
  }
  ring();
}

bool ShmBoard::arrive_and_look() {
  if (steps_ == 0) arrive();
  is_left_open_ = true;
  auto behind = members_.begin();
  const bool spins = waiting_.spin.count() > 0;
  const int looks =
      spins ? kQuickLooks : 1 + std::min(kQuickYields, waiting_.yields);
  for (int look = 1; look <= looks; ++look) {
    while (behind != members_.end() && has_entered(*behind)) ++behind;
    if (behind == members_.end() || look == looks) break;
    spins ? transport::pause_core() : std::this_thread::yield();
  }
  if (behind != members_.end() || !check_labels().ok() || !have_all_ended()) {
    return false;
  }
  leaving_.clear();
  is_left_open_ = false;
  complete_ = true;
  return true;
}

void ShmBoard::finish(std::uint64_t step) {
  const std::uint64_t first = first_[static_cast<std::size_t>(rank())];
  line(rank()).finished.store(first + step + 1);
  ring_if_last(&Line::finished, step);
}

void ShmBoard::end() {
  for (const int member : members_) {
    const auto place = static_cast<std::size_t>(member);
    end_[place] = first_[place] + steps_;
  }
  leaving_.assign(members_.begin(), members_.end());
  const auto self = static_cast<std::size_t>(rank());
  first_[self] += steps_;
  record_ = 1 - record_;
  ended(rank()).steps.store(first_[self]);
  for (const int member : members_) {
    if (ended(member).awaits_ends.load() == 0) continue;
    segment_.doorbell(member).ring_for_data();
  }
}

absl::Status ShmBoard::give_up(const absl::Status& why) {
  if (absl::IsCancelled(why) && !complete_) return why;
  failure_ = why;
  if (absl::IsCancelled(why)) {
    failure_ = absl::InternalError(absl::StrCat(
        "a call was given up though all had entered it: ", why.message()));
  }
  return failure_;
}

// Looks for `member`'s record of the present call. The counter is loaded first:
// the loads around a sleep are ordered by the counter, and its value makes the
// record visible.
bool ShmBoard::has_entered(int member) {
  const Line& theirs = line(member);
  const std::uint64_t arrived = theirs.arrived.load();
  for (const Record& record : theirs.records) {
    if (record.tag.load() != pack(label_)) continue;
    const std::uint64_t first = record.first.load(std::memory_order_relaxed);
    if (first >= arrived) continue;  // Only begun, or never used.
    records_[static_cast<std::size_t>(member)] = &record;
    first_[static_cast<std::size_t>(member)] = first;
    return true;
  }
  return false;
}

// Whether `member` has gone past the present call without entering it. Between
// two looks the member may enter this call and the next one. Its record of this
// call then stays until this rank has ended the call.
bool ShmBoard::is_past(int member) {
  for (const Record& record : line(member).records) {
    if (!is_later(record.tag.load(std::memory_order_acquire), pack(label_))) {
      continue;
    }
    records_[static_cast<std::size_t>(member)] = &record;
    return !has_entered(member);
  }
  return false;
}

absl::Status ShmBoard::check_labels() const {
  const std::uint64_t tag = pack(label_);
  const std::uint64_t kind_and_bytes = pack(label_.kind, label_.bytes);
  for (const int member : members_) {
    const Record& record = *records_[static_cast<std::size_t>(member)];
    const std::uint64_t its_tag = record.tag.load(std::memory_order_relaxed);
    const std::uint64_t its_kind =
        record.kind_and_bytes.load(std::memory_order_relaxed);
    if (its_tag == tag && its_kind == kind_and_bytes) continue;
    return absl::InternalError(absl::StrCat(
        "the ranks of this node are in different calls: local rank ", rank(),
        " is in ", describe(tag, kind_and_bytes), ", local rank ", member,
        " in ", describe(its_tag, its_kind),
        "; all must make the same calls in the same order"));
  }
  return absl::OkStatus();
}

template <typename Ready>
absl::Status ShmBoard::wait(Ready ready, transport::Interrupt& interrupt) {
  if (ready()) return absl::OkStatus();
  IgnoringCancelled ignoring(interrupt);
  const bool is_decided = label_.votes && complete_;
  return transport::wait_until(
      std::ref(ready),
      is_decided ? static_cast<transport::Interrupt&>(ignoring) : interrupt,
      waiting_, segment_.doorbell(rank()));
}

absl::Status ShmBoard::wait_for_all(Word Line::*counter, std::uint64_t step,
                                    transport::Interrupt& interrupt) {
  auto behind = members_.begin();  // First member not yet seen there.
  const auto all_there = [&] {
    while (behind != members_.end() && has_come(*behind, counter, step)) {
      ++behind;
    }
    return behind == members_.end();
  };
  return wait(all_there, interrupt);
}

absl::Status ShmBoard::wait_for_arrivals(std::uint64_t step,
                                         transport::Interrupt& interrupt) {
  if (step > 0) return wait_for_all(&Line::arrived, step, interrupt);
  auto behind = members_.begin();
  bool apart = false;
  const auto all_there = [&] {
    while (behind != members_.end() && has_entered(*behind)) ++behind;
    apart = behind != members_.end() && is_past(*behind);
    return apart || behind == members_.end();
  };
  absl::Status entered = wait(all_there, interrupt);
  if (label_.votes && !apart) entered = vote(entered, interrupt);
  HVD_RETURN_IF_ERROR(entered);
  complete_ = !apart;
  HVD_RETURN_IF_ERROR(check_labels());
  return wait_for_ends(interrupt);
}

bool ShmBoard::have_all_entered() {
  return std::all_of(members_.begin(), members_.end(),
                     [&](int member) { return has_entered(member); });
}

// Turns the outcome of the wait for all to enter into the outcome of the vote.
absl::Status ShmBoard::vote(const absl::Status& outcome,
                            transport::Interrupt& interrupt) {
  const std::uint64_t against = pack(label_);
  if (absl::IsCancelled(outcome)) {
    Word& mine = ended(rank()).vote;
    mine.store(against);
    const bool stands = !have_all_entered();
    mine.store(stands ? against | 1 : 0);
    ring();
    if (stands) return outcome;
  } else {
    HVD_RETURN_IF_ERROR(outcome);
  }
  IgnoringCancelled ignoring(interrupt);
  for (const int member : members_) {
    const Word& theirs = ended(member).vote;
    HVD_RETURN_IF_ERROR(
        wait([&] { return theirs.load() != against; }, ignoring));
    // A member that voted on a later call still has its record of this one,
    // unless it left this call. Then the next call's record took its place.
    const bool has_left =
        theirs.load() == (against | 1) || !has_entered(member);
    if (has_left) return wait([] { return false; }, interrupt);
  }
  return absl::OkStatus();
}

absl::Status ShmBoard::wait_for_results(std::uint64_t step,
                                        transport::Interrupt& interrupt) {
  return wait_for_all(&Line::finished, step, interrupt);
}

absl::Status ShmBoard::check_no_withdrawal() {
  for (const int member : members_) {
    if (ended(member).withdrawn.load() == 0) continue;
    withdraw(0);
    return absl::AbortedError(absl::StrCat("local rank ", member, " gave ",
                                           kind_name(pack(label_.kind, 0)),
                                           " up after all had entered it"));
  }
  return absl::OkStatus();
}

void ShmBoard::withdraw(std::uint64_t step) {
  ended(rank()).withdrawn.store(1);
  const auto is_lost = [&](int member) {
    return ended(member).lost.load() != 0;
  };
  const auto is_done = [&](int member) {
    const std::uint64_t end = first_[static_cast<std::size_t>(member)] + step;
    return line(member).finished.load() > end ||
           ended(member).withdrawn.load() != 0 || is_lost(member);
  };
  const auto have_all_arrived = [&] {
    return std::all_of(members_.begin(), members_.end(), [&](int member) {
      return has_come(member, &Line::arrived, step);
    });
  };
  if (!have_all_arrived()) return;
  const auto give_up =
      std::chrono::steady_clock::now() + options_.longest_withdrawal;
  while (!std::all_of(members_.begin(), members_.end(), is_done) &&
         std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(kBetweenLooks);
  }
  if (std::any_of(members_.begin(), members_.end(), is_lost)) {
    std::this_thread::sleep_for(kAfterADeath);
  }
}

void ShmBoard::mark_lost(int local_rank) { ended(local_rank).lost.store(1); }

// Rule 3. Entering a later call implies the earlier call ended.
absl::Status ShmBoard::wait_for_ends(transport::Interrupt& interrupt) {
  if (!have_all_ended()) {
    Word& awaits_ends = ended(rank()).awaits_ends;
    awaits_ends.store(1);
    const absl::Status status =
        wait([this] { return have_all_ended(); }, interrupt);
    awaits_ends.store(0);
    HVD_RETURN_IF_ERROR(status);
  }
  leaving_.clear();
  return absl::OkStatus();
}

bool ShmBoard::have_all_ended() {
  return std::all_of(leaving_.begin(), leaving_.end(), [&](int member) {
    const auto place = static_cast<std::size_t>(member);
    return first_[place] >= end_[place] ||
           ended(member).steps.load() >= end_[place];
  });
}

}  // namespace hvd::collective
