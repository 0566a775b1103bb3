// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/arena/map.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <system_error>
#include <type_traits>
#include <utility>

namespace hvd::collective {
namespace {

// Mapping this many bytes takes a few milliseconds: less than one copy of them
// through the slots.
constexpr std::size_t kMappedAtOnce = std::size_t{64} << 20;

// A number that differs between processes even where their process IDs do not.
std::uint64_t process_token() {
  static const std::uint64_t random = [] {
    std::random_device device;
    return (std::uint64_t{device()} << 32) | device();
  }();
  // A forked child has its parent's random number.
  return random ^ static_cast<std::uint64_t>(::getpid());
}

}  // namespace

std::size_t ArenaMap::bytes_needed(int ranks) {
  static_assert(std::is_trivially_copyable_v<Entry>);
  return static_cast<std::size_t>(ranks) * sizeof(List);
}

ArenaMap::ArenaMap(std::shared_ptr<Arena> arena, const Place& place,
                   std::span<std::byte> region, bool read_only)
    : arena_(std::move(arena)),
      place_(place),
      region_(region),
      read_only_(read_only),
      results_(arena_),
      peers_(static_cast<std::size_t>(place.ranks)) {}

ArenaMap::~ArenaMap() = default;

ArenaMap::List& ArenaMap::list(int rank) const {
  return reinterpret_cast<List*>(region_.data())[rank];
}

void ArenaMap::publish() {
  List& mine = list(place_.rank);
  const std::uint32_t listed = mine.count.load(std::memory_order_relaxed);
  const std::uint32_t count = arena_->extents();
  if (listed == count) return;
  // Readers read `process` only of a list that is not empty.
  if (listed == 0) mine.process = process_token();
  for (std::uint32_t i = listed; i < count; ++i) {
    const transport::SharedMemory& extent = arena_->extent(i);
    mine.entries[i] = {.ticket = extent.ticket(), .data = extent.data()};
  }
  mine.count.store(count, std::memory_order_release);
}

void ArenaMap::reach() {
  for (int rank = 0; rank < place_.ranks; ++rank) {
    Peer& peer = peers_[static_cast<std::size_t>(rank)];
    const List& theirs = list(rank);
    const std::uint32_t count = std::min<std::uint32_t>(
        theirs.count.load(std::memory_order_acquire), Arena::kMaxExtents);
    while (peer.extents.size() < count && !peer.hidden) {
      if (!reach_next(theirs, peer)) break;
    }
  }
}

bool ArenaMap::reach_next(const List& theirs, Peer& peer) const {
  const Entry& entry = theirs.entries[peer.extents.size()];
  // Ranks that are threads of one process share one mapping, so that sanitizers
  // see the accesses of both.
  if (theirs.process == process_token()) {
    peer.extents.emplace_back(entry.data, entry.ticket.bytes);
    return true;
  }
  const auto attach = [ticket = entry.ticket, read_only = read_only_] {
    return transport::SharedMemory::attach(ticket, read_only);
  };
  if (entry.ticket.bytes <= kMappedAtOnce) {
    take(attach(), peer);
    return true;
  }
  if (!peer.next.valid()) {
    try {
      peer.next = std::async(std::launch::async, attach);
    } catch (const std::system_error&) {  // No more threads can be started.
      take(attach(), peer);
      return true;
    }
  }
  if (peer.next.wait_for(std::chrono::seconds(0)) !=
      std::future_status::ready) {
    return false;
  }
  take(peer.next.get(), peer);
  return true;
}

void ArenaMap::take(Mapping mapping, Peer& peer) {
  peer.hidden = !mapping.ok();
  if (peer.hidden) return;
  peer.mappings.push_back(*std::move(mapping));
  peer.extents.emplace_back(peer.mappings.back()->data(),
                            peer.mappings.back()->bytes());
}

std::uint32_t ArenaMap::reached(int rank) const {
  return static_cast<std::uint32_t>(
      peers_[static_cast<std::size_t>(rank)].extents.size());
}

std::byte* ArenaMap::address(int rank, const Arena::Place& place,
                             std::size_t bytes) const {
  const auto& extents = peers_[static_cast<std::size_t>(rank)].extents;
  if (place.extent >= extents.size()) return nullptr;
  const std::span<std::byte> extent = extents[place.extent];
  if (place.offset > extent.size() || bytes > extent.size() - place.offset) {
    return nullptr;
  }
  return extent.data() + place.offset;
}

}  // namespace hvd::collective
