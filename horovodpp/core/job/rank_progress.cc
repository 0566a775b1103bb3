// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/job/rank_progress.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace hvd {
namespace {

constexpr char kProgressWord[] = "progress";
constexpr char kNoName[] = "-";
constexpr std::size_t kMaxNameBytes = 60;

// The end of a long name tells more than its beginning.
std::string word_of_name(absl::string_view name) {
  if (name.empty()) return kNoName;
  if (name.size() > kMaxNameBytes) {
    name.remove_prefix(name.size() - kMaxNameBytes);
  }
  std::string word(name);
  for (char& c : word) {
    const auto byte = static_cast<unsigned char>(c);
    if (absl::ascii_isspace(byte) || absl::ascii_iscntrl(byte)) c = '_';
  }
  return word;
}

std::string name_of_word(absl::string_view word) {
  return word == kNoName ? "" : word_of_name(word);
}

}  // namespace

std::string progress_text(const RankProgress& progress) {
  return absl::StrCat(kProgressWord, " ", progress.collectives, " ",
                      word_of_name(progress.last), " ",
                      word_of_name(progress.waiting), " ", progress.waiting_ms);
}

std::optional<RankProgress> parse_rank_progress(absl::string_view text) {
  const std::vector<absl::string_view> words = absl::StrSplit(text, ' ');
  RankProgress progress;
  if (words.size() != 5 || words[0] != kProgressWord ||
      !absl::SimpleAtoi(words[1], &progress.collectives) || words[2].empty() ||
      words[3].empty() || !absl::SimpleAtoi(words[4], &progress.waiting_ms) ||
      progress.collectives < 0 || progress.waiting_ms < 0) {
    return std::nullopt;
  }
  progress.last = name_of_word(words[2]);
  progress.waiting = name_of_word(words[3]);
  return progress;
}

}  // namespace hvd
