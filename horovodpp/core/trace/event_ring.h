// SPDX-License-Identifier: Apache-2.0
// An EventRing holds the last events of a rank in plain memory, which another
// process may map and read, also after the rank has died. A RingReader reads
// it.
//
// The memory has three parts: a header, names, and slots.
// - Names are texts that are added and never change. A name's number is its
//   place. Once the part is full, later names have the number of "…".
// - Event i is in slot i % kSlots. Its writer first marks the slot as being
//   written, and stores i + 1 in it last. So a reader that finds i + 1 before
//   and after it copies a slot has event i.
//
// Threads add events without waiting for each other. A thread that is suspended
// in write() for a whole round of the ring usually drops its event. In the worst
// case it spoils the event that has taken the slot since.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "horovodpp/core/trace/event.h"
#include "horovodpp/core/trace/ticks.h"

namespace hvd::trace {

// The memory of a ring begins with it. Where only `magic` is set, a launcher
// offers the memory to the rank that it starts.
struct RingHeader {
  static constexpr std::uint64_t kMagic = 0x31656361'72447648;  // "HvDrace1"

  std::atomic<std::uint64_t> magic;
  std::atomic<std::uint32_t> version;  // 0: no rank has begun yet.
  std::atomic<std::uint32_t> by_counter;
  std::atomic<std::int64_t> pid;     // The rank that writes, or wrote.
  std::atomic<std::uint64_t> place;  // pack(size, rank); 0: not in a job yet.
  std::atomic<std::uint64_t> ticks;  // A moment,
  std::atomic<std::uint64_t> nanoseconds;             // on both clocks.
  alignas(64) std::atomic<std::uint64_t> names_used;  // Bytes.
  alignas(64) std::atomic<std::uint64_t> written;     // Events so far.
};

struct RingSlot {
  std::array<std::atomic<std::uint64_t>, 4> words;
};

inline constexpr std::uint32_t kRingVersion = 1;
inline constexpr std::size_t kSlots = 16384;
inline constexpr std::size_t kNameBytes = std::size_t{1} << 20;
inline constexpr std::size_t kNamesAt = 4096;
inline constexpr std::size_t kSlotsAt = kNamesAt + kNameBytes;
inline constexpr std::size_t kRingBytes = kSlotsAt + kSlots * sizeof(RingSlot);
static_assert(sizeof(RingHeader) <= kNamesAt && sizeof(RingSlot) == 32);

// The number of a name that found no room.
inline constexpr std::uint32_t kNoName = 0;

// A name: the operation ("allreduce", or empty) and the text.
struct Name {
  std::string operation;
  std::string text;

  friend bool operator==(const Name&, const Name&) = default;
};

class EventRing {
 public:
  // `memory` has kRingBytes, aligned to a page, and outlives this object. Goes
  // on with what is there if begin() was called on that memory before.
  explicit EventRing(std::byte* memory);

  // Marks the memory as a ring of this process.
  void begin();

  std::uint64_t now() const { return read_ticks(by_counter_); }

  // The rank's place in its job.
  void set_place(int rank, int size) {
    header_.place.store(pack(static_cast<std::uint64_t>(size),
                             static_cast<std::uint64_t>(rank)));
  }

  // Any thread.
  void write(const Event& event) {
    const std::uint64_t index =
        header_.written.fetch_add(1, std::memory_order_relaxed);
    RingSlot& slot = slots_[index % kSlots];
    if (slot.words[0].load(std::memory_order_relaxed) > index) return;
    // A reader that sees one of the words also sees the mark.
    slot.words[0].store(0, std::memory_order_relaxed);
    slot.words[1].store(event.ticks, std::memory_order_release);
    slot.words[2].store(std::uint64_t{static_cast<std::uint8_t>(event.kind)} |
                            std::uint64_t{event.detail} << 8 |
                            std::uint64_t{event.label} << 16 |
                            std::uint64_t{event.name} << 32,
                        std::memory_order_release);
    slot.words[3].store(event.value, std::memory_order_release);
    slot.words[0].store(index + 1, std::memory_order_release);
  }

  // One thread at a time. Returns the name's number, kNoName if it finds no
  // room.
  std::uint32_t add_name(std::string_view operation, std::string_view text);

 private:
  RingHeader& header_;
  std::byte* const names_;
  RingSlot* const slots_;
  const bool by_counter_;
};

class RingReader {
 public:
  // `memory` has kRingBytes and outlives this object.
  explicit RingReader(const std::byte* memory);

  // Whether a rank has begun to write, in this version's layout.
  bool is_readable() const;
  // Whether the memory is offered or used as a ring.
  static bool is_ring(const std::byte* memory);

  std::int64_t pid() const { return header_.pid.load(); }
  // pack(size, rank); 0 before the first job.
  std::uint64_t place() const { return header_.place.load(); }
  std::uint64_t written() const { return header_.written.load(); }

  // Event `index`; nullopt if it is overwritten, or not written yet.
  std::optional<Event> read(std::uint64_t index) const;

  // The name; "…" for kNoName, and for a number that is none.
  Name name(std::uint32_t number) const;

  // When the ring began; with Moment::now() it tells the time of events.
  Moment began() const;
  bool by_counter() const { return header_.by_counter.load() != 0; }

 private:
  const RingHeader& header_;
  const std::byte* const names_;
  const RingSlot* const slots_;
};

}  // namespace hvd::trace
