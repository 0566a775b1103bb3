#include "horovodpp/collective/shm_board.h"

#include <functional>

#include "absl/strings/str_cat.h"

namespace hvd::collective {
namespace {

constexpr int kKindShift = 56;

std::uint64_t pack(const transport::DataTag& tag) {
  return (std::uint64_t{tag.epoch} << 32) | tag.sequence;
}

std::uint64_t pack(char kind, std::uint64_t bytes) {
  return (static_cast<std::uint64_t>(static_cast<unsigned char>(kind))
          << kKindShift) |
         bytes;
}

std::string kind_name(std::uint64_t kind_and_bytes) {
  switch (static_cast<char>(kind_and_bytes >> kKindShift)) {
    case 'r':
      return "an allreduce";
    case 'g':
      return "an allgather";
    case 'b':
      return "a broadcast";
    default:
      return "a barrier";
  }
}

std::string describe(std::uint64_t tag, std::uint64_t kind_and_bytes) {
  const std::uint64_t bytes =
      kind_and_bytes & ((std::uint64_t{1} << kKindShift) - 1);
  return absl::StrCat(kind_name(kind_and_bytes), " of ", bytes,
                      " bytes (epoch ", tag >> 32, ", sequence ",
                      tag & 0xffffffffu, ")");
}

}  // namespace

std::size_t ShmBoard::bytes_needed(int ranks, std::size_t slot_bytes) {
  const std::size_t count = static_cast<std::size_t>(ranks);
  return count * sizeof(Line) + (count + 1) * kSlots * slot_bytes;
}

ShmBoard::ShmBoard(transport::NodeSegment& segment, std::span<std::byte> region,
                   std::size_t slot_bytes, const transport::WaitPolicy& waiting)
    : segment_(segment),
      region_(region),
      slot_bytes_(slot_bytes),
      waiting_(waiting) {}

ShmBoard::Line& ShmBoard::line(int rank) const {
  return reinterpret_cast<Line*>(region_.data())[rank];
}

std::byte* ShmBoard::input(int rank, std::uint64_t step) const {
  const std::size_t number =
      static_cast<std::size_t>(rank) * kSlots + step % kSlots;
  return region_.data() + static_cast<std::size_t>(ranks()) * sizeof(Line) +
         number * slot_bytes_;
}

std::byte* ShmBoard::result(std::uint64_t step) const {
  return input(ranks(), step);  // Behind the last rank's slots.
}

void ShmBoard::arrive(std::uint64_t step, const Label& label) {
  Line& mine = line(rank());
  // Atomic though the slot rule orders them: where ranks have come apart, the
  // rule does not hold, and the error shall still be found.
  mine.tag[step % kSlots].store(pack(label.tag), std::memory_order_relaxed);
  mine.kind_and_bytes[step % kSlots].store(pack(label.kind, label.bytes),
                                           std::memory_order_relaxed);
  mine.arrived.store(step + 1);
  segment_.ring_others();
}

void ShmBoard::finish(std::uint64_t step) {
  line(rank()).finished.store(step + 1);
  segment_.ring_others();
}

absl::Status ShmBoard::wait_for_arrivals(std::uint64_t step,
                                         transport::Watch& watch) {
  return wait(&Line::arrived, step + 1, watch);
}

absl::Status ShmBoard::wait_for_results(std::uint64_t step,
                                        transport::Watch& watch) {
  return wait(&Line::finished, step + 1, watch);
}

absl::Status ShmBoard::wait(std::atomic<std::uint64_t> Line::*counter,
                            std::uint64_t least, transport::Watch& watch) {
  int behind = 0;  // The first rank not yet seen there.
  const auto all_there = [&] {
    while (behind < ranks() && (line(behind).*counter).load() >= least) {
      ++behind;
    }
    return behind == ranks();
  };
  if (all_there()) return absl::OkStatus();
  return transport::wait_until(std::ref(all_there), watch, waiting_,
                               segment_.doorbell(rank()));
}

absl::Status ShmBoard::check_labels(std::uint64_t step,
                                    const Label& label) const {
  const std::uint64_t tag = pack(label.tag);
  const std::uint64_t kind_and_bytes = pack(label.kind, label.bytes);
  for (int peer = 0; peer < ranks(); ++peer) {
    const Line& other = line(peer);
    const std::uint64_t its_tag =
        other.tag[step % kSlots].load(std::memory_order_relaxed);
    const std::uint64_t its_kind =
        other.kind_and_bytes[step % kSlots].load(std::memory_order_relaxed);
    if (its_tag == tag && its_kind == kind_and_bytes) continue;
    return absl::InternalError(
        absl::StrCat("the ranks of this node have come apart: local rank ",
                     rank(), " is in ", describe(tag, kind_and_bytes),
                     ", local rank ", peer, " in ", describe(its_tag, its_kind),
                     "; all must make the same calls in the same order"));
  }
  return absl::OkStatus();
}

}  // namespace hvd::collective
