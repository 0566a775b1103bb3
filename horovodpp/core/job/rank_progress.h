// SPDX-License-Identifier: Apache-2.0
// RankProgress is a rank's regular report to its launcher about its
// collectives, for horovodrun --watch. As text it is a few words without a
// newline, distinct from the text of a RankStatus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace hvd {

struct RankProgress {
  std::int64_t collectives = 0;  // That the rank has begun.
  std::string last{};     // The name of the last of them; empty: none yet.
  std::string waiting{};  // The name that has waited longest; empty: none has.
  std::int64_t waiting_ms = 0;

  friend bool operator==(const RankProgress&, const RankProgress&) = default;
};

// At most kMaxRankProgressBytes: long names are cut, and blanks in them become
// underscores.
std::string progress_text(const RankProgress& progress);
inline constexpr std::size_t kMaxRankProgressBytes = 192;

std::optional<RankProgress> parse_rank_progress(absl::string_view text);

}  // namespace hvd
