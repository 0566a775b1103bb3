// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/protocol/node_board.h"

#include <algorithm>
#include <atomic>
#include <bit>

namespace hvd::coordinator {
namespace {

struct alignas(128) Line {
  std::atomic<std::uint64_t> value;
};

std::uint64_t completed_slots(std::uint32_t slots) {
  return std::bit_ceil(std::uint64_t{slots} + 1);
}

// One entry of the schedule.
struct Entry {
  std::atomic<std::uint64_t> word;  // Id, kind and end-of-batch mark.
  std::atomic<std::uint64_t> value;
};

std::uint64_t pack(const Record& record) {
  return (std::uint64_t{record.ends_batch} << 40) |
         (std::uint64_t{static_cast<std::uint8_t>(record.kind)} << 32) |
         record.id;
}

Record unpack(const Entry& entry) {
  const std::uint64_t word = entry.word.load(std::memory_order_relaxed);
  return {.kind = static_cast<RecordKind>((word >> 32) & 0xffu),
          .id = static_cast<std::uint32_t>(word),
          .value = entry.value.load(std::memory_order_relaxed),
          .ends_batch = ((word >> 40) & 1u) != 0};
}

}  // namespace

// Pointers into the shared region. Every field is an atomic word for which zero
// is a valid start.
struct SharedBoard::Layout {
  Layout(std::span<std::byte> region, std::uint32_t slots, std::uint32_t length)
      : schedule_length(length) {
    std::byte* at = region.data();
    const auto take = [&at]<typename T>(T*& first, std::uint64_t count) {
      first = reinterpret_cast<T*>(at);
      at += sizeof(T) * count;
    };
    take(completed_tail, 1);
    take(schedule_tail, 1);
    take(room_wanted, 1);
    take(readers, kMaxRanks);
    take(schedule, schedule_length);
    take(arrived, slots);
    take(completed, completed_slots(slots));
    completed_mask = completed_slots(slots) - 1;
  }

  Line* completed_tail;
  Line* schedule_tail;
  Line* room_wanted;  // 1 while the leader waits for a slow reader.
  Line* readers;
  std::uint64_t schedule_length;
  Entry* schedule;
  std::atomic<std::uint64_t>* completed;  // (position + 1) << 32 | id
  std::atomic<std::uint64_t>* arrived;
  std::uint64_t completed_mask;
};

std::size_t SharedBoard::bytes_needed(std::uint32_t slots,
                                      std::uint32_t schedule_length) {
  return sizeof(Line) * (3 + kMaxRanks) + sizeof(Entry) * schedule_length +
         sizeof(std::uint64_t) * (slots + completed_slots(slots));
}

SharedBoard::SharedBoard(std::span<std::byte> region, int local_rank,
                         int local_size, std::uint32_t slots,
                         std::uint32_t schedule_length)
    : layout_(std::make_unique<Layout>(region, slots, schedule_length)),
      my_bit_(std::uint64_t{1} << local_rank),
      local_rank_(local_rank),
      local_size_(local_size) {}

SharedBoard::~SharedBoard() = default;

bool SharedBoard::arrive(std::uint32_t slot, std::uint32_t id,
                         std::uint64_t members) {
  auto& word = layout_->arrived[slot];
  if ((word.fetch_or(my_bit_) | my_bit_) != members) return false;
  // No rank arrives here again until this occurrence was executed or the id was
  // retired. So the word can be cleared without a race; a withdrawing rank
  // clears only its own bit. For the same reason the completed list, with a
  // place for every slot, cannot overflow.
  word.store(0);
  const std::uint64_t position = layout_->completed_tail->value.fetch_add(1);
  layout_->completed[position & layout_->completed_mask].store(
      ((position + 1) << 32) | id);
  return true;
}

void SharedBoard::withdraw(std::uint32_t slot) {
  layout_->arrived[slot].fetch_and(~my_bit_);
}

std::optional<std::uint32_t> SharedBoard::next_completed() {
  const std::uint64_t word =
      layout_->completed[completed_taken_ & layout_->completed_mask].load();
  if ((word >> 32) != ((completed_taken_ + 1) & 0xffffffffu))
    return std::nullopt;
  ++completed_taken_;
  return static_cast<std::uint32_t>(word);
}

bool SharedBoard::has_room_for(std::uint64_t records) const {
  std::uint64_t slowest = written_;
  for (int i = 0; i < local_size_; ++i) {
    slowest = std::min(slowest, layout_->readers[i].value.load());
  }
  return written_ + records - slowest <= layout_->schedule_length;
}

bool SharedBoard::append(std::span<const Record> records) {
  if (!has_room_for(records.size())) {
    // Check again: a reader that advanced before this store wakes no one.
    layout_->room_wanted->value.store(1);
    if (!has_room_for(records.size())) return false;
  }
  if (layout_->room_wanted->value.load() != 0) {
    layout_->room_wanted->value.store(0);
  }
  for (const Record& record : records) {
    Entry& entry = layout_->schedule[written_++ % layout_->schedule_length];
    entry.word.store(pack(record), std::memory_order_relaxed);
    entry.value.store(record.value, std::memory_order_relaxed);
  }
  layout_->schedule_tail->value.store(written_);
  return true;
}

std::vector<Record> SharedBoard::next_batch() {
  std::vector<Record> batch;
  const std::uint64_t tail = layout_->schedule_tail->value.load();
  batch_end_ = read_;
  while (batch_end_ < tail && (batch.empty() || !batch.back().ends_batch)) {
    batch.push_back(
        unpack(layout_->schedule[batch_end_++ % layout_->schedule_length]));
  }
  return batch;
}

std::optional<Record> SharedBoard::next_record() {
  if (read_ == layout_->schedule_tail->value.load()) return std::nullopt;
  return unpack(layout_->schedule[read_ % layout_->schedule_length]);
}

bool SharedBoard::advance() {
  read_ = batch_end_;
  layout_->readers[local_rank_].value.store(read_);
  return layout_->room_wanted->value.load() != 0;
}

}  // namespace hvd::coordinator
