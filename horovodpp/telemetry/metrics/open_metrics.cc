// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/telemetry/metrics/open_metrics.h"

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace hvd::telemetry {
namespace {

// "# UNIT …" of a family whose name ends in its unit; "": of any other.
std::string unit_line(absl::string_view family) {
  for (const char* unit : {"seconds", "bytes"}) {
    if (absl::EndsWith(family, absl::StrCat("_", unit))) {
      return absl::StrCat("# UNIT ", family, " ", unit, "\n");
    }
  }
  return "";
}

}  // namespace

// The name of a counter's family has no "_total", only those of its series.
std::string open_metrics(std::string_view text) {
  std::string out;
  for (const absl::string_view line :
       absl::StrSplit(absl::string_view(text.data(), text.size()), '\n')) {
    if (line.empty()) continue;
    // "#", "TYPE" or "HELP", the name, and the rest.
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::MaxSplits(' ', 3));
    if (words.size() < 4 || words[0] != "#") {
      absl::StrAppend(&out, line, "\n");
      continue;
    }
    absl::string_view family = words[2];
    absl::ConsumeSuffix(&family, "_total");
    absl::StrAppend(&out, "# ", words[1], " ", family, " ", words[3], "\n");
    if (words[1] == "TYPE") absl::StrAppend(&out, unit_line(family));
  }
  return absl::StrCat(out, "# EOF\n");
}

}  // namespace hvd::telemetry
