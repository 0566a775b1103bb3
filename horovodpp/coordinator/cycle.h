// SPDX-License-Identifier: Apache-2.0
// A Cycle is a fixed order of batches that repeats from step to step. While it
// is in force a rank executes the next batch of it as soon as it has itself
// submitted all of that batch, and asks nobody: that the others do the same is
// seen where they meet, in the collective.
//
// This is one rank's view of it. Every rank has the same cycle and takes its
// batches one by one, so ranks differ by at most one batch in how many they
// have entered.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace hvd::coordinator {

class Cycle {
 public:
  // Appends `id` to the cycle; `ends_batch` if it is the last of its batch.
  void add(std::uint32_t id, bool ends_batch);

  // A number that tells different cycles apart (FNV-1a of ids and boundaries).
  std::uint64_t hash() const { return hash_; }
  bool contains(std::uint32_t id) const { return batch_of_.contains(id); }
  std::size_t batches() const { return batches_.size(); }
  // Of the batch `index`.
  const std::vector<std::uint32_t>& ids_of(std::size_t index) const {
    return batches_[index].ids;
  }

  // This rank has submitted `id`, which is part of the cycle, for its next
  // occurrence; or one of the batch `index`.
  void submitted(std::uint32_t id) { submitted_in(batch_of_.find(id)->second); }
  void submitted_in(std::size_t index) { --batches_[index].missing; }

  // The next batch, its index, and whether all of it is submitted.
  const std::vector<std::uint32_t>& head() const {
    return batches_[position_].ids;
  }
  std::size_t position() const { return position_; }
  bool head_is_ready() const { return missing() == 0; }
  // How many of it this rank has still to submit.
  std::size_t missing() const { return batches_[position_].missing; }
  // Goes on to the batch after it.
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
  // Begins anew: nothing of it is submitted or entered.
  void restart();
  // Batches entered so far, all rounds together.
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
