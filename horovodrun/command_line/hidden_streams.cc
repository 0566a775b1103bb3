// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/command_line/hidden_streams.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace hvd::launcher {
namespace {

constexpr int kBoth = kHiddenOutput | kHiddenErrors;

bool parse_streams(absl::string_view text, int* streams) {
  return absl::SimpleAtoi(text, streams) && *streams >= 0 && *streams <= kBoth;
}

bool is_shown_rank(const std::string& shown, int local_rank) {
  const std::vector<absl::string_view> ranks = absl::StrSplit(shown, ',');
  return std::any_of(ranks.begin(), ranks.end(), [&](const auto& text) {
    int rank = -1;
    return absl::SimpleAtoi(text, &rank) && rank == local_rank;
  });
}

}  // namespace

absl::StatusOr<int> redirected_streams(const std::string& text,
                                       int local_rank) {
  int streams = 0;
  if (parse_streams(text, &streams)) return streams;
  int found = 0;
  for (const absl::string_view entry : absl::StrSplit(text, ',')) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(entry, absl::MaxSplits(':', 1));
    int rank = -1;
    if (!absl::SimpleAtoi(parts.first, &rank) || rank < 0 ||
        !parse_streams(parts.second, &streams)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--redirects is '", text,
          "'; give 0 (no stream), 1 (stdout), 2 (stderr) or 3 (both), or one "
          "of these for each local rank, as in 0:1,1:3"));
    }
    if (rank == local_rank) found = streams;
  }
  return found;
}

int hidden_streams(const Environment& environment, int local_rank) {
  const auto shown = environment.find(kShownRanksVariable);
  if (shown != environment.end() && !is_shown_rank(shown->second, local_rank)) {
    return kBoth;
  }
  const auto redirects = environment.find(kRedirectsVariable);
  if (redirects == environment.end()) return 0;
  return redirected_streams(redirects->second, local_rank).value_or(0);
}

}  // namespace hvd::launcher
