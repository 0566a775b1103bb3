// SPDX-License-Identifier: Apache-2.0
// A TuningMemory is what a tuner found out about a machine and about models, as
// text between jobs. It is a hint: a job without it, or with a wrong one, only
// takes longer to find good batches.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "horovodpp/coordinator/tuning/path_fit.h"

namespace hvd::coordinator {

// An order of a step's operations, cut into batches. The operations have the
// numbers 0, 1, … in the order of their names.
struct Arrangement {
  std::vector<std::uint32_t> order = {};
  std::vector<std::size_t> cuts =
      {};  // After the last operation of each batch.

  // Whether it has each of `operations` once, and batches that end at its end.
  bool is_of(std::size_t operations) const;
  friend bool operator==(const Arrangement&, const Arrangement&) = default;
};

struct TuningMemory {
  static constexpr std::size_t kMostModels = 16;

  struct Model {
    std::uint64_t hash = 0;  // Of the names, sizes and dtypes.
    Arrangement best = {};
    friend bool operator==(const Model&, const Model&) = default;
  };
  std::vector<PathLine> paths = {};
  std::vector<Model> models = {};  // The one used last first.

  // Puts `model` first, and drops the oldest of too many.
  void remember(Model model);
  const Model* find(std::uint64_t hash) const;

  std::string to_text() const;
  // nullopt: `text` is no such text, or is damaged.
  static std::optional<TuningMemory> from_text(std::string_view text);
  friend bool operator==(const TuningMemory&, const TuningMemory&) = default;
};

}  // namespace hvd::coordinator
