// SPDX-License-Identifier: Apache-2.0
// An ArenaMap gives a rank access to the arenas of the other ranks of its node.
// Every rank lists the extents of its arena in shared memory. The others map an
// extent on first use:
//
//   map.publish();                              // mine, for the others
//   map.reach();                                // theirs, as far as listed
//   std::byte* memory = map.address(peer, place, bytes);
//
// Belongs to one thread. Zeroed memory is an empty list.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodpp/collective/arena/arena.h"
#include "horovodpp/collective/arena/results.h"
#include "horovodpp/transport/node/shared_memory.h"

namespace hvd::collective {

class ArenaMap {
 public:
  static std::size_t bytes_needed(int ranks);

  struct Place {
    int rank = 0;   // This rank.
    int ranks = 0;  // Number of ranks that share the memory.
  };
  // `region` has bytes_needed() bytes of shared memory, aligned to 128, and
  // outlives the map. `read_only` maps others' arenas so that a write to them
  // ends the process: a way to find stray writes.
  ArenaMap(std::shared_ptr<Arena> arena, const Place& place,
           std::span<std::byte> region, bool read_only = false);
  ~ArenaMap();

  const Arena& arena() const { return *arena_; }
  // Memory for results that other ranks may write into.
  ArenaResults& results() { return results_; }
  int ranks() const { return place_.ranks; }
  bool read_only() const { return read_only_; }

  // Lists the present extents of this rank's arena.
  void publish();

  // Maps the extents that others have listed. Long extents are mapped in the
  // background and are reached some calls later. A mapping that fails is not
  // tried again.
  void reach();

  // The number of extents of `rank`'s arena that are mapped here, from the
  // first on.
  std::uint32_t reached(int rank) const;

  // The address of `bytes` at a place in `rank`'s arena; nullptr if they do not
  // lie in one mapped extent.
  std::byte* address(int rank, const Arena::Place& place,
                     std::size_t bytes) const;

 private:
  struct Entry {
    transport::SharedMemory::Ticket ticket;
    std::byte* data;  // Address in the process that created the extent.
  };
  // One rank's list. `process` tells apart processes that have one process ID
  // in different containers.
  struct alignas(128) List {
    std::atomic<std::uint32_t> count;
    std::uint64_t process;
    Entry entries[Arena::kMaxExtents];
  };
  using Mapping = absl::StatusOr<std::unique_ptr<transport::SharedMemory>>;
  struct Peer {
    std::vector<std::span<std::byte>> extents;
    std::vector<std::unique_ptr<transport::SharedMemory>> mappings;
    std::future<Mapping> next;  // The mapping in progress.
    bool hidden = false;
  };

  List& list(int rank) const;
  // Returns false if the next extent is not mapped yet.
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
