// SPDX-License-Identifier: Apache-2.0
// A RankActivity is an agent's regular report about its rank for --watch: the
// use of the machine, and the rank's own report of its collectives.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "horovodpp/core/job/rank_progress.h"
#include "horovodrun/system/process_usage.h"

namespace hvd::launcher {

struct RankActivity {
  ProcessUsage usage{};
  std::optional<RankProgress> progress{};  // nullopt: the rank has sent none.
};

// One line, at most 256 bytes.
std::string activity_text(const RankActivity& activity);
std::optional<RankActivity> parse_rank_activity(absl::string_view text);

}  // namespace hvd::launcher
