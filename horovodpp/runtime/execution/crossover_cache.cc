// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/execution/crossover_cache.h"

#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"

namespace hvd::runtime {
namespace {

// Change this number when the measured values or the method change.
constexpr int kFormat = 1;
constexpr std::size_t kMostBytes = 4096;

std::string key_of(const CrossoverCache::Place& place) {
  return absl::StrCat("format ", kFormat, ", ", machine_key(), ", ",
                      place.ranks, " ranks, slots ", place.slot_bytes);
}

}  // namespace

CrossoverCache::CrossoverCache(std::string directory, const Place& place)
    : file_(directory, "crossovers",
            directory.empty() ? std::string() : key_of(place)) {}

std::optional<collective::ShmCrossovers> CrossoverCache::load() const {
  const std::optional<std::string> content = file_.load(kMostBytes);
  if (!content) return std::nullopt;
  std::istringstream text(*content);
  collective::ShmCrossovers values;
  std::string end;
  if (!(text >> values.small_bytes >> values.step_bytes >> end)) {
    return std::nullopt;
  }
  return end == "." ? std::optional(values) : std::nullopt;
}

absl::Status CrossoverCache::store(
    const collective::ShmCrossovers& values) const {
  const absl::Status stored = file_.store(
      absl::StrCat(values.small_bytes, " ", values.step_bytes, " .\n"));
  if (stored.ok()) return stored;
  return absl::UnavailableError(absl::StrCat(
      stored.message(),
      ": each job measures this machine again; HOROVODPP_CACHE_DIR names "
      "another directory"));
}

}  // namespace hvd::runtime
