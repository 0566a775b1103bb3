// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/watch/rank_activity.h"

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace hvd::launcher {

std::string activity_text(const RankActivity& activity) {
  std::string text =
      absl::StrCat(activity.usage.cpu_ms, " ", activity.usage.resident_kib);
  if (activity.progress)
    absl::StrAppend(&text, " ", progress_text(*activity.progress));
  return text;
}

std::optional<RankActivity> parse_rank_activity(absl::string_view text) {
  const std::vector<absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits(' ', 2));
  RankActivity activity;
  if (parts.size() < 2 || !absl::SimpleAtoi(parts[0], &activity.usage.cpu_ms) ||
      !absl::SimpleAtoi(parts[1], &activity.usage.resident_kib)) {
    return std::nullopt;
  }
  if (parts.size() == 2) return activity;
  activity.progress = parse_rank_progress(parts[2]);
  return activity.progress ? std::optional(activity) : std::nullopt;
}

}  // namespace hvd::launcher
