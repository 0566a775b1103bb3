// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/watch/watch_block.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <tuple>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace hvd::launcher {
namespace {

using State = WatchedRank::State;

// The block leaves most of the terminal to the output.
constexpr std::size_t kMaxRankLines = 16;
constexpr std::size_t kMaxRanges = 4;
constexpr std::size_t kMaxHostColumns = 16;
constexpr std::array<const char*, 6> kStateNames = {
    "starting", "running", "joining", "in job", "waiting", "ended"};

std::string duration(double seconds) {
  const auto whole = static_cast<std::int64_t>(seconds);
  if (whole < 60) return absl::StrCat(whole, " s");
  if (whole < 3600) {
    return absl::StrFormat("%d:%02d min", whole / 60, whole % 60);
  }
  return absl::StrFormat("%d:%02d h", whole / 3600, whole / 60 % 60);
}

std::string memory(std::int64_t kib) {
  if (kib == 0) return "-";
  const double mib = static_cast<double>(kib) / 1024;
  return mib < 1024 ? absl::StrFormat("%.0f MiB", mib)
                    : absl::StrFormat("%.1f GiB", mib / 1024);
}

// Other characters may have no column, or two.
std::string in_columns(std::string line, std::size_t columns) {
  for (char& c : line) {
    if (!absl::ascii_isprint(static_cast<unsigned char>(c))) c = '?';
  }
  if (line.size() >= columns) line.resize(columns - 1);
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

std::string number(const std::optional<double>& value, int digits) {
  return value ? absl::StrFormat("%.*f", digits, *value) : "-";
}

std::string remark_on(const WatchedRank& rank) {
  if (rank.state == State::kEnded) return rank.end;
  if (rank.state != State::kWaiting) return rank.collective;
  std::string text =
      absl::StrCat(rank.collective, " waits ", duration(rank.waiting_s));
  if (rank.missing.empty()) return text;
  return absl::StrCat(text, " for rank ", ranges_of(rank.missing, kMaxRanges));
}

std::string summary(const std::vector<WatchedRank>& ranks, double elapsed_s) {
  std::vector<std::string> counts;
  double rate = 0;
  for (std::size_t state = 0; state < kStateNames.size(); ++state) {
    const auto count =
        std::count_if(ranks.begin(), ranks.end(), [&](const WatchedRank& rank) {
          return static_cast<std::size_t>(rank.state) == state;
        });
    if (count > 0) {
      counts.push_back(absl::StrCat(count, " ", kStateNames[state]));
    }
  }
  std::int64_t kib = 0;
  for (const WatchedRank& rank : ranks) {
    rate = std::max(rate, rank.rate.value_or(0));
    kib += rank.resident_kib;
  }
  return absl::StrCat("horovodrun: ", ranks.size(), " ranks, ",
                      duration(elapsed_s), ": ", absl::StrJoin(counts, ", "),
                      "; ", absl::StrFormat("%.1f", rate), " collectives/s, ",
                      memory(kib));
}

// The numbers of at most `most` ranks, ascending. Ranks that others wait for
// are chosen first, then failed ranks, the longest waits, ranks that are not in
// the job yet, and the slowest.
std::vector<std::size_t> chosen(const std::vector<WatchedRank>& ranks,
                                std::size_t most) {
  std::set<int> awaited;
  for (const WatchedRank& rank : ranks) {
    awaited.insert(rank.missing.begin(), rank.missing.end());
  }
  std::vector<std::size_t> order(ranks.size());
  std::iota(order.begin(), order.end(), 0);
  if (ranks.size() <= most) return order;
  const auto urgency = [&](std::size_t i) {
    const WatchedRank& rank = ranks[i];
    return std::make_tuple(!awaited.contains(static_cast<int>(i)),
                           !rank.has_failed, -rank.waiting_s,
                           static_cast<int>(rank.state), rank.rate.value_or(0),
                           i);
  };
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return urgency(a) < urgency(b);
  });
  order.resize(most);
  std::sort(order.begin(), order.end());
  return order;
}

}  // namespace

std::string ranges_of(const std::vector<int>& ranks, std::size_t most) {
  std::vector<std::string> ranges;
  std::size_t named = 0;
  for (std::size_t begin = 0; begin < ranks.size() && ranges.size() < most;) {
    std::size_t end = begin + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    ranges.push_back(end - begin == 1
                         ? absl::StrCat(ranks[begin])
                         : absl::StrCat(ranks[begin], "-", ranks[end - 1]));
    named = begin = end;
  }
  std::string text = absl::StrJoin(ranges, ", ");
  if (named < ranks.size()) {
    absl::StrAppend(&text, " and ", ranks.size() - named, " more");
  }
  return text;
}

std::vector<std::string> watch_block(const std::vector<WatchedRank>& ranks,
                                     double elapsed_s, const WatchSize& size) {
  std::vector<std::string> block = {summary(ranks, elapsed_s)};
  // Half of a low terminal stays for the output.
  const std::size_t room = std::min(kMaxRankLines, size.lines / 2);
  if (room >= 3) {
    const std::vector<std::size_t> shown = chosen(ranks, room - 2);
    std::size_t host_columns = 4;
    for (const std::size_t i : shown) {
      host_columns = std::max(host_columns,
                              std::min(kMaxHostColumns, ranks[i].host.size()));
    }
    const int width = static_cast<int>(host_columns);
    block.push_back(absl::StrFormat("%5s  %-*s  %-8s  %6s  %5s  %8s  %s",
                                    "rank", width, "host", "state", "coll/s",
                                    "cpu%", "memory", "collective"));
    for (const std::size_t i : shown) {
      const WatchedRank& rank = ranks[i];
      block.push_back(
          absl::StrFormat("%5d  %-*s  %-8s  %6s  %5s  %8s  %s", i, width,
                          rank.host.substr(0, host_columns),
                          kStateNames[static_cast<std::size_t>(rank.state)],
                          number(rank.rate, 1), number(rank.cpu, 0),
                          memory(rank.resident_kib), remark_on(rank)));
    }
    if (shown.size() < ranks.size()) {
      absl::StrAppend(&block[0], "; ", shown.size(), " of the ranks:");
    }
  }
  const std::size_t columns = std::max<std::size_t>(size.columns, 2);
  for (std::string& line : block) line = in_columns(std::move(line), columns);
  return block;
}

}  // namespace hvd::launcher
