// SPDX-License-Identifier: Apache-2.0
// A NodeBoard is memory that the ranks of one node share in order to agree
// without messages:
//
//   arrivals   one word per id: the ranks that have submitted it. The rank
//              that completes the set puts the id on the completed list.
//   completed  the node's arrival log: ids in the order of completion. Only
//              the node's leader removes them.
//   schedule   batches to execute, in one order for all ranks. Only the leader
//              writes it; every rank reads the whole board, at its own pace.
//
// Each rank has an object of its own, all over the same memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "horovodpp/coordinator/protocol/message.h"

namespace hvd::coordinator {

class NodeBoard {
 public:
  virtual ~NodeBoard() = default;

  // This rank has submitted `id`, whose word is `slot`. `members` has a bit for
  // each local rank that must submit it. Returns true if that completed the id
  // on the node: the id is on the completed list, and the caller should wake
  // the leader.
  virtual bool arrive(std::uint32_t slot, std::uint32_t id,
                      std::uint64_t members) = 0;

  // Takes back an arrival, after the id was retired.
  virtual void withdraw(std::uint32_t slot) = 0;

  // Leader only: the next completed id.
  virtual std::optional<std::uint32_t> next_completed() = 0;

  // Leader only: appends whole batches. Returns false, with no effect, while a
  // slow reader leaves no room.
  virtual bool append(std::span<const Record> records) = 0;

  // The next records of the schedule that are read together; empty if none.
  // They stay the next ones until advance().
  virtual std::vector<Record> next_batch() = 0;
  // The first of these records; nullopt if none. Cheap.
  virtual std::optional<Record> next_record() = 0;
  // Moves past the records returned last. Returns true if the leader waits for
  // room in the schedule and should be woken.
  virtual bool advance() = 0;
};

// Most records in one append.
inline constexpr std::size_t kMaxAppend = 1024;

// Default number of arrival words: 3 MiB per node, allocated from the start.
inline constexpr std::uint32_t kDefaultSlots = 1u << 17;

// A NodeBoard over shared memory. `region` starts as zeros and is the same
// memory, not the same address, for all ranks. Lock-free.
class SharedBoard : public NodeBoard {
 public:
  static constexpr int kMaxRanks = 64;

  // Room for several appends, so the leader rarely waits for a slow reader.
  static constexpr std::uint32_t kScheduleLength = 4 * kMaxAppend;

  static std::size_t bytes_needed(
      std::uint32_t slots, std::uint32_t schedule_length = kScheduleLength);

  // For rank `local_rank` of `local_size` (at most kMaxRanks). All ranks pass
  // equal `slots` and `schedule_length`, which is at least kMaxAppend.
  SharedBoard(std::span<std::byte> region, int local_rank, int local_size,
              std::uint32_t slots,
              std::uint32_t schedule_length = kScheduleLength);
  ~SharedBoard() override;

  bool arrive(std::uint32_t slot, std::uint32_t id,
              std::uint64_t members) override;
  void withdraw(std::uint32_t slot) override;
  std::optional<std::uint32_t> next_completed() override;
  bool append(std::span<const Record> records) override;
  std::vector<Record> next_batch() override;
  std::optional<Record> next_record() override;
  bool advance() override;

 private:
  struct Layout;
  bool has_room_for(std::uint64_t records) const;

  std::unique_ptr<Layout> layout_;
  std::uint64_t my_bit_;
  int local_rank_;
  int local_size_;
  std::uint64_t completed_taken_ = 0;  // Leader.
  std::uint64_t written_ = 0;          // Leader.
  std::uint64_t read_ = 0;
  std::uint64_t batch_end_ = 0;  // End of the batch returned last.
};

}  // namespace hvd::coordinator
