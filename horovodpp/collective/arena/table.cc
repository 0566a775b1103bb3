// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/arena/table.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

namespace hvd::collective {
namespace {

// A slot holds the extents that this rank reaches in each rank's arena, then
// the places of the input and output of each piece.
using Reach = std::uint32_t;
struct Entry {
  std::uint64_t input = 0;
  std::uint64_t output = 0;
};
constexpr std::uint64_t kElsewhere = std::numeric_limits<std::uint64_t>::max();
constexpr int kExtentShift = 48;

std::size_t entries_at(std::size_t ranks) {
  const std::size_t bytes = ranks * sizeof(Reach);
  return (bytes + sizeof(Entry) - 1) / sizeof(Entry) * sizeof(Entry);
}

std::size_t room(std::size_t slot_bytes, std::size_t ranks) {
  const std::size_t head = entries_at(ranks);
  return slot_bytes < head ? 0 : (slot_bytes - head) / sizeof(Entry);
}

std::uint64_t packed(const std::optional<Arena::Place>& place) {
  if (!place) return kElsewhere;
  return std::uint64_t{place->extent} << kExtentShift | place->offset;
}

Arena::Place unpacked(std::uint64_t word) {
  return {.extent = static_cast<std::uint32_t>(word >> kExtentShift),
          .offset = word & ((std::uint64_t{1} << kExtentShift) - 1)};
}

Entry entry_of(const Arena& arena, const Piece& piece, std::size_t bytes) {
  const std::uint64_t input = packed(arena.find(piece.input, bytes));
  if (piece.output == piece.input) return {input, input};
  return {input, packed(arena.find(piece.output, bytes))};
}

// For each member, the number of its extents that all members reach.
std::vector<Reach> usable(const ArenaTable::Reading& reading) {
  std::vector<Reach> usable(reading.members.size());
  for (std::size_t m = 0; m < usable.size(); ++m) {
    const auto rank = static_cast<std::size_t>(reading.members[m]);
    Reach least = std::numeric_limits<Reach>::max();
    for (const std::span<const std::byte> slot : reading.slots) {
      Reach reach = 0;
      std::memcpy(&reach, slot.data() + rank * sizeof(Reach), sizeof(Reach));
      least = std::min(least, reach);
    }
    usable[m] = least;
  }
  return usable;
}

// The entry of member m for a piece.
Entry entry_at(const ArenaTable::Reading& reading, std::size_t m,
               std::size_t piece) {
  Entry entry;
  std::memcpy(&entry,
              reading.slots[m].data() + entries_at(reading.ranks) +
                  piece * sizeof(Entry),
              sizeof(Entry));
  return entry;
}

// The address of member m's memory at the place `word` if all members reach it;
// else nullptr.
std::byte* address(const ArenaTable::Reading& reading,
                   const std::vector<Reach>& usable, std::size_t m,
                   std::uint64_t word, std::size_t bytes) {
  const Arena::Place place = unpacked(word);
  if (word == kElsewhere || place.extent >= usable[m]) return nullptr;
  return reading.map.address(reading.members[m], place, bytes);
}

// Whether, for all members, the run at `next` begins where the run at `last`,
// `bytes` long, ends.
bool goes_on(const std::byte* const* last, const std::byte* const* next,
             std::size_t members, std::size_t bytes) {
  for (std::size_t m = 0; m < members; ++m) {
    if (last[m] + bytes != next[m]) return false;
  }
  return true;
}

void add_run(ArenaTable::Runs& runs, std::int64_t count, std::size_t members,
             std::size_t element_bytes) {
  // The addresses are already in `runs`.
  runs.total += count;
  if (!runs.counts.empty()) {
    const std::size_t last = (runs.counts.size() - 1) * members;
    const std::size_t next = last + members;
    const auto bytes =
        static_cast<std::size_t>(runs.counts.back()) * element_bytes;
    if (goes_on(&runs.inputs[last], &runs.inputs[next], members, bytes) &&
        goes_on(&runs.outputs[last], &runs.outputs[next], members, bytes)) {
      runs.counts.back() += count;
      runs.inputs.resize(next);
      runs.outputs.resize(next);
      return;
    }
  }
  runs.counts.push_back(count);
}

}  // namespace

bool ArenaTable::fits(std::size_t slot_bytes, std::size_t ranks) {
  return room(slot_bytes, ranks) > 0;
}

std::size_t ArenaTable::bytes_needed(std::size_t pieces, std::size_t ranks) {
  return entries_at(ranks) + pieces * sizeof(Entry);
}

bool ArenaTable::lists_foreign(std::span<const std::byte> slot,
                               std::size_t pieces, std::size_t ranks,
                               Share share) {
  const bool any = share == Share::kAny;
  const std::byte* at = slot.data() + entries_at(ranks);
  for (std::size_t i = 0; i < pieces; ++i, at += sizeof(Entry)) {
    Entry entry;
    std::memcpy(&entry, at, sizeof(Entry));
    const bool is_foreign =
        entry.input == kElsewhere || entry.output == kElsewhere;
    if (is_foreign == any) return any;
  }
  return !any;
}

void ArenaTable::write(std::span<std::byte> slot, ArenaMap& map,
                       std::span<const Piece> pieces,
                       std::size_t element_bytes) {
  map.publish();
  map.reach();
  const auto ranks = static_cast<std::size_t>(map.ranks());
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const Reach reach = map.reached(static_cast<int>(rank));
    std::memcpy(slot.data() + rank * sizeof(Reach), &reach, sizeof(Reach));
  }
  std::byte* at = slot.data() + entries_at(ranks);
  const std::size_t count = std::min(pieces.size(), room(slot.size(), ranks));
  for (const Piece& piece : pieces.first(count)) {
    const Entry entry =
        entry_of(map.arena(), piece,
                 static_cast<std::size_t>(piece.count) * element_bytes);
    std::memcpy(at, &entry, sizeof(Entry));
    at += sizeof(Entry);
  }
}

ArenaTable::Inputs::Inputs(const Reading& reading, std::size_t pieces)
    : reading_(reading),
      told_(std::min(pieces, room(reading.slots[0].size(), reading.ranks))),
      usable_(usable(reading)) {}

bool ArenaTable::Inputs::find(std::size_t piece, std::size_t bytes,
                              std::span<const void*> addresses) const {
  for (std::size_t m = 0; m < addresses.size(); ++m) {
    addresses[m] = at(m, piece, bytes);
    if (addresses[m] == nullptr) return false;
  }
  return true;
}

std::byte* ArenaTable::Inputs::at(std::size_t m, std::size_t piece,
                                  std::size_t bytes) const {
  if (piece >= told_) return nullptr;
  return address(reading_, usable_, m, entry_at(reading_, m, piece).input,
                 bytes);
}

ArenaTable::Sorted ArenaTable::sort(const Reading& reading,
                                    std::span<const Piece> pieces,
                                    std::size_t element_bytes) {
  const std::size_t members = reading.members.size();
  const std::size_t told =
      std::min(pieces.size(), room(reading.slots[0].size(), reading.ranks));
  const std::vector<Reach> reached = usable(reading);
  Sorted sorted;
  Runs& runs = sorted.runs;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    if (piece.count == 0) continue;
    const auto bytes = static_cast<std::size_t>(piece.count) * element_bytes;
    const std::size_t before = runs.inputs.size();
    runs.inputs.resize(before + members);
    runs.outputs.resize(before + members);
    bool everywhere = i < told;
    for (std::size_t m = 0; everywhere && m < members; ++m) {
      const Entry entry = entry_at(reading, m, i);
      std::byte*& input = runs.inputs[before + m];
      std::byte*& output = runs.outputs[before + m];
      input = address(reading, reached, m, entry.input, bytes);
      output = entry.output == entry.input
                   ? input
                   : address(reading, reached, m, entry.output, bytes);
      everywhere = input != nullptr && output != nullptr;
    }
    if (everywhere) {
      add_run(runs, piece.count, members, element_bytes);
    } else {
      runs.inputs.resize(before);
      runs.outputs.resize(before);
      sorted.foreign.push_back(piece);
    }
  }
  return sorted;
}

}  // namespace hvd::collective
