// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/job/rank_status.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace hvd {
namespace {

constexpr std::array<const char*, 6> kKindNames = {
    "joining", "connected", "broken", "reforming", "reformed", "hindered"};

constexpr std::size_t kMaxHostBytes = 64;  // Linux's limit.
constexpr std::size_t kMaxReasonBytes = 400;
constexpr std::size_t kMaxCulprits = 4;
constexpr std::size_t kMaxLostBytes = 600;

// Escapes blanks, control characters and field separators as %XX, so that a
// text is one word.
std::string escaped(absl::string_view text) {
  std::string word;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= ' ' || byte == 0x7f || c == '%' || c == '@') {
      absl::StrAppendFormat(&word, "%%%02x", static_cast<unsigned>(byte));
    } else {
      word.push_back(c);
    }
  }
  return word;
}

std::optional<std::string> unescaped(absl::string_view word) {
  std::string text;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i] != '%') {
      text.push_back(word[i]);
      continue;
    }
    unsigned byte = 0;
    if (!absl::SimpleHexAtoi(word.substr(i + 1, 2), &byte)) return std::nullopt;
    text.push_back(static_cast<char>(byte));
    i += 2;
  }
  return text;
}

// "1,4-7"; only the first ranges if space is short.
std::string ranges_of(const std::vector<int>& ranks) {
  std::string text;
  for (std::size_t begin = 0; begin < ranks.size();) {
    std::size_t end = begin + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (text.size() > kMaxLostBytes - 24) break;
    absl::StrAppend(&text, text.empty() ? "" : ",", ranks[begin]);
    if (end - begin > 1) absl::StrAppend(&text, "-", ranks[end - 1]);
    begin = end;
  }
  return text;
}

std::optional<std::vector<int>> ranks_in(absl::string_view ranges) {
  constexpr int kMaxRanks = 1 << 20;
  std::vector<int> ranks;
  for (const absl::string_view range :
       absl::StrSplit(ranges, ',', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> ends =
        absl::StrSplit(range, absl::MaxSplits('-', 1));
    int first = 0;
    int last = 0;
    if (!absl::SimpleAtoi(ends.first, &first) ||
        !absl::SimpleAtoi(ends.second.empty() ? ends.first : ends.second,
                          &last) ||
        first < 0 || last >= kMaxRanks) {
      return std::nullopt;
    }
    for (int rank = first; rank <= last; ++rank) ranks.push_back(rank);
  }
  return ranks;
}

std::string word_of(const RankStatus::Named& named) {
  return absl::StrCat(named.rank, "@", named.pid, "@",
                      escaped(named.host.substr(0, kMaxHostBytes)));
}

std::optional<std::vector<RankStatus::Named>> culprits_in(
    absl::string_view words) {
  std::vector<RankStatus::Named> culprits;
  for (const absl::string_view word :
       absl::StrSplit(words, ',', absl::SkipEmpty())) {
    const std::vector<absl::string_view> fields = absl::StrSplit(word, '@');
    RankStatus::Named named;
    if (fields.size() != 3 || !absl::SimpleAtoi(fields[0], &named.rank) ||
        !absl::SimpleAtoi(fields[1], &named.pid)) {
      return std::nullopt;
    }
    const std::optional<std::string> host = unescaped(fields[2]);
    if (!host) return std::nullopt;
    named.host = *host;
    culprits.push_back(std::move(named));
  }
  return culprits;
}

}  // namespace

std::optional<RankStatus::Named> take_named(absl::string_view* text) {
  absl::string_view rest = *text;
  RankStatus::Named named;
  if (!absl::ConsumePrefix(&rest, "rank ")) return std::nullopt;
  const std::size_t host = rest.find(" (host '");
  if (host == absl::string_view::npos ||
      !absl::SimpleAtoi(rest.substr(0, host), &named.rank)) {
    return std::nullopt;
  }
  rest.remove_prefix(host + 8);
  const std::size_t pid = rest.find("', pid ");
  if (pid == absl::string_view::npos) return std::nullopt;
  named.host = std::string(rest.substr(0, pid));
  rest.remove_prefix(pid + 7);
  const std::size_t end = rest.find(')');
  if (end == absl::string_view::npos ||
      !absl::SimpleAtoi(rest.substr(0, end), &named.pid)) {
    return std::nullopt;
  }
  rest.remove_prefix(end + 1);
  *text = rest;
  return named;
}

void RankStatus::set_reason(const std::string& text) {
  reason = text;
  culprits.clear();
  absl::string_view rest = text;
  if (const auto subject = take_named(&rest)) {
    if (!absl::ConsumePrefix(&rest, ": ")) {
      culprits.push_back(*subject);
      return;
    }
  }
  while (culprits.size() < kMaxCulprits) {
    const std::size_t next = rest.find("rank ");
    if (next == absl::string_view::npos) return;
    rest.remove_prefix(next);
    if (const auto named = take_named(&rest)) {
      culprits.push_back(*named);
    } else {
      rest.remove_prefix(5);
    }
  }
}

std::string to_text(const RankStatus& status) {
  std::vector<std::string> culprits;
  for (const RankStatus::Named& named : status.culprits) {
    if (culprits.size() < kMaxCulprits) culprits.push_back(word_of(named));
  }
  std::string text = absl::StrCat(
      kKindNames[static_cast<std::size_t>(status.kind)], " ",
      escaped(status.host.substr(0, kMaxHostBytes)), " ", status.pid, " ",
      status.timeout.count(), " ", ranges_of(status.lost), " ",
      absl::StrJoin(culprits, ","), " ", static_cast<int>(status.failure), " ");
  const std::string reason = escaped(status.reason.substr(0, kMaxReasonBytes));
  // Do not cut an escape.
  std::size_t size = std::min(reason.size(), kMaxRankStatusBytes - text.size());
  if (size < reason.size()) {
    const std::size_t percent = reason.rfind('%', size);
    if (percent != std::string::npos && percent + 2 >= size) size = percent;
  }
  return text.append(reason, 0, size);
}

std::optional<RankStatus> parse_rank_status(absl::string_view text) {
  const std::vector<absl::string_view> words = absl::StrSplit(text, ' ');
  if (words.size() != 8) return std::nullopt;
  const auto kind = std::find(kKindNames.begin(), kKindNames.end(), words[0]);
  if (kind == kKindNames.end()) return std::nullopt;
  RankStatus status;
  status.kind = static_cast<RankStatus::Kind>(kind - kKindNames.begin());
  std::int64_t timeout = 0;
  int failure = 0;
  const auto host = unescaped(words[1]);
  const auto lost = ranks_in(words[4]);
  const auto culprits = culprits_in(words[5]);
  const auto reason = unescaped(words[7]);
  constexpr std::int64_t kMaxTimeout = std::int64_t{1000} * 3600 * 24 * 365;
  if (!host || !lost || !culprits || !reason ||
      !absl::SimpleAtoi(words[2], &status.pid) ||
      !absl::SimpleAtoi(words[3], &timeout) || timeout < 0 ||
      !absl::SimpleAtoi(words[6], &failure) || failure < 0 ||
      failure > static_cast<int>(kLastFailureKind)) {
    return std::nullopt;
  }
  status.host = *host;
  status.timeout = std::chrono::milliseconds(std::min(timeout, kMaxTimeout));
  status.lost = *lost;
  status.culprits = *culprits;
  status.reason = *reason;
  status.failure = static_cast<FailureKind>(failure);
  return status;
}

}  // namespace hvd
