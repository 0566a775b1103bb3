// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/trace/event_ring.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace hvd::trace {
namespace {

// Before the text of a name. Names begin at multiples of 8.
struct NameHeader {
  std::uint32_t operation = 0;  // Bytes.
  std::uint32_t text = 0;
};
constexpr std::size_t kUnit = 8;
static_assert(sizeof(NameHeader) == kUnit);

constexpr char kUnknown[] = "…";

}  // namespace

EventRing::EventRing(std::byte* memory)
    : header_(*reinterpret_cast<RingHeader*>(memory)),
      names_(memory + kNamesAt),
      slots_(reinterpret_cast<RingSlot*>(memory + kSlotsAt)),
      by_counter_(has_steady_counter()) {}

void EventRing::begin() {
  const Moment now = Moment::now(by_counter_);
  header_.by_counter.store(by_counter_ ? 1 : 0);
  header_.ticks.store(now.ticks);
  header_.nanoseconds.store(now.nanoseconds);
  header_.pid.store(::getpid());
  header_.magic.store(RingHeader::kMagic);
  header_.version.store(kRingVersion);
}

std::uint32_t EventRing::add_name(std::string_view operation,
                                  std::string_view text) {
  const std::uint64_t at = header_.names_used.load(std::memory_order_relaxed);
  const std::size_t bytes = sizeof(NameHeader) + operation.size() + text.size();
  const std::size_t whole = (bytes + kUnit - 1) / kUnit * kUnit;
  if (at > kNameBytes || whole > kNameBytes - at) return kNoName;
  const NameHeader header = {static_cast<std::uint32_t>(operation.size()),
                             static_cast<std::uint32_t>(text.size())};
  std::byte* to = names_ + at;
  std::memcpy(to, &header, sizeof header);
  to += sizeof header;
  std::copy_n(reinterpret_cast<const std::byte*>(operation.data()),
              operation.size(), to);
  std::copy_n(reinterpret_cast<const std::byte*>(text.data()), text.size(),
              to + operation.size());
  header_.names_used.store(at + whole, std::memory_order_release);
  return static_cast<std::uint32_t>(at / kUnit) + 1;
}

RingReader::RingReader(const std::byte* memory)
    : header_(*reinterpret_cast<const RingHeader*>(memory)),
      names_(memory + kNamesAt),
      slots_(reinterpret_cast<const RingSlot*>(memory + kSlotsAt)) {}

bool RingReader::is_ring(const std::byte* memory) {
  return reinterpret_cast<const RingHeader*>(memory)->magic.load() ==
         RingHeader::kMagic;
}

bool RingReader::is_readable() const {
  return header_.magic.load() == RingHeader::kMagic &&
         header_.version.load() == kRingVersion;
}

std::optional<Event> RingReader::read(std::uint64_t index) const {
  const RingSlot& slot = slots_[index % kSlots];
  if (slot.words[0].load(std::memory_order_acquire) != index + 1) {
    return std::nullopt;
  }
  Event event;
  event.ticks = slot.words[1].load(std::memory_order_acquire);
  const std::uint64_t middle = slot.words[2].load(std::memory_order_acquire);
  event.value = slot.words[3].load(std::memory_order_acquire);
  if (slot.words[0].load(std::memory_order_relaxed) != index + 1) {
    return std::nullopt;
  }
  event.kind = static_cast<EventKind>(middle & 0xff);
  event.detail = static_cast<std::uint8_t>(middle >> 8);
  event.label = static_cast<std::uint16_t>(middle >> 16);
  event.name = static_cast<std::uint32_t>(middle >> 32);
  return event;
}

// Reads no byte beyond the names, whatever the memory holds.
Name RingReader::name(std::uint32_t number) const {
  const Name unknown = {"", kUnknown};
  if (number == kNoName) return unknown;
  const std::uint64_t used = std::min<std::uint64_t>(
      header_.names_used.load(std::memory_order_acquire), kNameBytes);
  const std::uint64_t at = std::uint64_t{number - 1} * kUnit;
  if (at + sizeof(NameHeader) > used) return unknown;
  NameHeader header;
  std::memcpy(&header, names_ + at, sizeof header);
  const std::uint64_t begin = at + sizeof header;
  if (std::uint64_t{header.operation} + header.text > used - begin) {
    return unknown;
  }
  const char* const bytes = reinterpret_cast<const char*>(names_ + begin);
  return {std::string(bytes, header.operation),
          std::string(bytes + header.operation, header.text)};
}

Moment RingReader::began() const {
  return {header_.ticks.load(), header_.nanoseconds.load()};
}

}  // namespace hvd::trace
