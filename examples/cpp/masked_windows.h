// SPDX-License-Identifier: Apache-2.0
// Windows of a text in which some bytes are masked, for a model that predicts
// them.
//
//   MaskedWindows masked(windows);
//
// An item is a window, int64[length], with the token kMask in place of 15 % of
// its bytes, at least one; and the targets, the masked bytes, elsewhere -100.
// The places depend only on the item's number, and each window has as many, so
// that any number of ranks learns the same.
#pragma once

#include <horovodpp/horovodpp.h>

#include <cstdint>
#include <span>

class MaskedWindows : public hvd::data::Dataset {
 public:
  static constexpr std::int64_t kMask = 256;

  // `windows` outlives this.
  explicit MaskedWindows(const hvd::data::Dataset& windows)
      : windows_(windows) {}

  std::int64_t size() const override { return windows_.size(); }
  hvd::data::Item get(std::int64_t index) const override;

 private:
  const hvd::data::Dataset& windows_;
};
