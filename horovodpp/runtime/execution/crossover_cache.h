// SPDX-License-Identifier: Apache-2.0
// The CrossoverCache keeps the measured crossovers of this machine's shared
// memory between jobs. It has a small file for each kind of processor, number
// of cores and number of ranks.
//
//   const CrossoverCache cache(config.cache_dir, {.ranks = 2, .slot_bytes = n});
//   auto known = cache.load();                  // nullopt: to be measured
//   cache.store(found);
//
// Several processes may use one directory.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "horovodpp/collective/shm/crossovers.h"
#include "horovodpp/runtime/execution/cache_file.h"

namespace hvd::runtime {

class CrossoverCache {
 public:
  struct Place {
    int ranks = 0;               // Ranks that share the memory.
    std::size_t slot_bytes = 0;  // The size of each slot.
  };
  // `directory` is created when values are stored; "": nothing is remembered.
  CrossoverCache(std::string directory, const Place& place);

  // The values stored last for such a place; nullopt if there are none or the
  // file cannot be read.
  std::optional<collective::ShmCrossovers> load() const;

  // Replaces the values atomically.
  //   Unavailable  the file cannot be written; names the file and the reason
  absl::Status store(const collective::ShmCrossovers& values) const;

  const std::string& path() const { return file_.path(); }

 private:
  const CacheFile file_;  // Its key: processor, cores, ranks, slots.
};

}  // namespace hvd::runtime
