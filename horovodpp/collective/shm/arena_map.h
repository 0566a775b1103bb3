// SPDX-License-Identifier: Apache-2.0
// An ArenaMap is where a rank finds the arenas of the other ranks of its node.
// Every rank lists the extents of its arena in memory that they all see; the
// others map them when they first need to.
//
//   map.publish();                              // mine, for the others
//   map.reach();                                // theirs, as far as listed
//   std::byte* memory = map.address(peer, place, bytes);
//
// Belongs to one thread. Memory that starts as zeros is an empty list.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodpp/collective/shm/arena.h"
#include "horovodpp/collective/shm/arena_results.h"
#include "horovodpp/transport/shared_memory.h"

namespace hvd::collective {

class ArenaMap {
 public:
  static std::size_t bytes_needed(int ranks);

  struct Place {
    int rank = 0;   // This one,
    int ranks = 0;  // of so many that share the memory.
  };
  // `region` is bytes_needed(), aligned to 128, in shared memory that outlives
  // the map. If `read_only`, others' arenas are mapped so that a write to them
  // ends the process: a way to find stray writes.
  ArenaMap(std::shared_ptr<Arena> arena, const Place& place,
           std::span<std::byte> region, bool read_only = false);
  ~ArenaMap();

  const Arena& arena() const { return *arena_; }
  // Where results go that others may write into.
  ArenaResults& results() { return results_; }
  int ranks() const { return place_.ranks; }
  bool read_only() const { return read_only_; }

  // Lists the extents that this rank's arena has by now.
  void publish();

  // Maps the extents that others have listed by now: long ones in the background,
  // since that takes a while, so that they are reached some calls later. What cannot
  // be mapped is not tried again.
  void reach();

  // So many extents of `rank`'s arena, from the first one on, are mapped here.
  std::uint32_t reached(int rank) const;

  // Of `bytes` at a place in `rank`'s arena; nullptr if they are not in one of
  // the extents reached.
  std::byte* address(int rank, const Arena::Place& place,
                     std::size_t bytes) const;

 private:
  struct Entry {
    transport::SharedMemory::Ticket ticket;
    std::byte* data;  // In the process that made it.
  };
  // One rank's list. `process` tells processes apart that have one number in
  // different containers.
  struct alignas(128) List {
    std::atomic<std::uint32_t> count;
    std::uint64_t process;
    Entry entries[Arena::kMaxExtents];
  };
  using Mapping = absl::StatusOr<std::unique_ptr<transport::SharedMemory>>;
  struct Peer {
    std::vector<std::span<std::byte>> extents;
    std::vector<std::unique_ptr<transport::SharedMemory>> mappings;
    std::future<Mapping> next;  // On its way.
    bool hidden = false;
  };

  List& list(int rank) const;
  // False if the next extent is yet to come.
  bool reach_next(const List& theirs, Peer& peer) const;
  static void take(Mapping mapping, Peer& peer);

  const std::shared_ptr<Arena> arena_;
  const Place place_;
  const std::span<std::byte> region_;
  const bool read_only_;
  ArenaResults results_;
  std::vector<Peer> peers_;
};

}  // namespace hvd::collective
