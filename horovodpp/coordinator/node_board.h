// SPDX-License-Identifier: Apache-2.0
// A NodeBoard is what the ranks of one node share in order to agree without
// messages:
//
//   arrivals   one word per id: who has submitted it. Whoever completes the
//              set puts the id on the completed list.
//   completed  the node's arrival log: ids in the order they became complete.
//              The node's leader alone takes them off.
//   schedule   what to execute, in batches, in one order for all ranks. The
//              leader alone writes it; every rank reads all of it, at its own
//              pace.
//
// Each rank has an object of its own; behind them lies one memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "horovodpp/coordinator/message.h"

namespace hvd::coordinator {

class NodeBoard {
 public:
  virtual ~NodeBoard() = default;

  // This rank has submitted `id`, whose word is `slot` and for which the ranks
  // `members` of the node (a bit for each local rank) have to. True if that made
  // it complete on the node: it is on the completed list then, and the leader
  // should be woken.
  virtual bool arrive(std::uint32_t slot, std::uint32_t id,
                      std::uint64_t members) = 0;

  // Takes an arrival back, after the id was retired.
  virtual void withdraw(std::uint32_t slot) = 0;

  // Leader only: the next completed id.
  virtual std::optional<std::uint32_t> next_completed() = 0;

  // Leader only: appends whole batches. False, and nothing done, while some
  // rank has not yet read far enough for them to fit.
  virtual bool append(std::span<const Record> records) = 0;

  // The next records of the schedule that are read as one, empty if there are
  // none yet. They stay the next ones until advance().
  virtual std::vector<Record> next_batch() = 0;
  // The first of them; nullopt where there is none. Cheap.
  virtual std::optional<Record> next_record() = 0;
  // Passes the records last given out. True if the leader waits for room in the
  // schedule and should be woken.
  virtual bool advance() = 0;
};

// The most records that one append may hold.
inline constexpr std::size_t kMaxAppend = 1024;

// Arrival words that a job has unless it is told otherwise: 3 MiB for each node,
// which are there from the start.
inline constexpr std::uint32_t kDefaultSlots = 1u << 17;

// A NodeBoard over memory that the ranks share; `region` starts as zeros and is
// the same memory (not the same address) for all of them. Lock-free.
class SharedBoard : public NodeBoard {
 public:
  static constexpr int kMaxRanks = 64;

  // Room for several appends, so that the leader rarely waits for a slow reader.
  static constexpr std::uint32_t kScheduleLength = 4 * kMaxAppend;

  static std::size_t bytes_needed(
      std::uint32_t slots, std::uint32_t schedule_length = kScheduleLength);

  // Rank `local_rank` of `local_size` (at most kMaxRanks). `schedule_length` is
  // at least kMaxAppend. Both are equal everywhere.
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
  std::uint64_t batch_end_ = 0;  // Where the batch last given out ends.
};

}  // namespace hvd::coordinator
