// SPDX-License-Identifier: Apache-2.0
// A Cycle is a fixed order of batches that repeats from step to step. While a
// cycle is in force, a rank executes the next batch once the rank itself has
// submitted the whole batch, without asking the others. Ranks meet in the
// collective.
//
// This is one rank's view. Every rank has the same cycle and takes its batches
// one by one. So the numbers of batches that ranks have entered differ by at
// most one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace hvd::coordinator {

class Cycle {
 public:
  // Appends `id` to the cycle; `ends_batch` marks the last id of a batch.
  void add(std::uint32_t id, bool ends_batch);

  // FNV-1a hash of ids and boundaries, which tells cycles apart.
  std::uint64_t hash() const { return hash_; }
  bool contains(std::uint32_t id) const { return batch_of_.contains(id); }
  std::size_t batches() const { return batches_.size(); }
  // The ids of batch `index`.
  const std::vector<std::uint32_t>& ids_of(std::size_t index) const {
    return batches_[index].ids;
  }

  // This rank has submitted `id` of the cycle, or an id of batch `index`, for
  // its next occurrence.
  void submitted(std::uint32_t id) { submitted_in(batch_of_.find(id)->second); }
  void submitted_in(std::size_t index) { --batches_[index].missing; }

  // The next batch, its index, and whether this rank has submitted the whole
  // batch.
  const std::vector<std::uint32_t>& head() const {
    return batches_[position_].ids;
  }
  std::size_t position() const { return position_; }
  bool head_is_ready() const { return missing() == 0; }
  // Submissions that the next batch still lacks on this rank.
  std::size_t missing() const { return batches_[position_].missing; }
  // Moves on to the following batch.
  void enter_head() {
    batches_[position_].missing = batches_[position_].ids.size();
    position_ = position_ + 1 == batches_.size() ? 0 : position_ + 1;
    ++entered_;
  }
  template <typename F>
  bool all_of_ids(F f) const {
    return std::all_of(batches_.begin(), batches_.end(), [&](const Part& part) {
      return std::all_of(part.ids.begin(), part.ids.end(), f);
    });
  }
  // Starts again, with no batch submitted or entered.
  void restart();
  // Batches entered so far, over all rounds.
  std::uint64_t entered() const { return entered_; }

 private:
  struct Part {
    std::vector<std::uint32_t> ids = {};
    std::size_t missing = 0;  // Not yet submitted.
  };

  std::vector<Part> batches_;
  absl::flat_hash_map<std::uint32_t, std::uint32_t> batch_of_;
  bool batch_is_open_ = false;
  std::uint64_t hash_ = 0xcbf29ce484222325u;
  std::size_t position_ = 0;
  std::uint64_t entered_ = 0;
};

}  // namespace hvd::coordinator
