// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/output/stderr_filter.h"

#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace hvd::launcher {
namespace {

constexpr size_t kMaxNoiseBytes = 512;

// A line of noise, or its arrived part.
struct Noise {
  size_t begin = 0;
  size_t end = 0;
  bool complete = false;
};

bool is_in_prefix(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' ||
         c == '-' || c == '_' || c == ':';
}

// The beginning of the line whose recognized words are at `words`; npos if the
// text before them is not the starter's.
size_t noise_begin(absl::string_view text, size_t words, bool has_prefix) {
  if (!has_prefix) return words;
  size_t begin = words;
  while (begin > 0 && is_in_prefix(text[begin - 1])) --begin;
  if (begin == 0 || begin == words || text[begin - 1] != '[') {
    return absl::string_view::npos;
  }
  return begin - 1;
}

std::optional<Noise> find_noise(absl::string_view text, size_t from,
                                const NoisePattern& pattern) {
  const absl::string_view words = pattern.words;
  for (size_t at = text.find(words, from); at != absl::string_view::npos;
       at = text.find(words, at + 1)) {
    const size_t begin = noise_begin(text, at, pattern.has_prefix);
    if (begin == absl::string_view::npos || begin < from) continue;
    const size_t newline = text.find('\n', at);
    if (newline == absl::string_view::npos) {
      if (text.size() - begin > kMaxNoiseBytes) continue;
      return Noise{begin, text.size(), false};
    }
    if (absl::StrContains(text.substr(begin, newline - begin), pattern.later)) {
      return Noise{begin, newline + 1, true};
    }
  }
  return std::nullopt;
}

std::optional<Noise> first_noise(absl::string_view text, size_t from,
                                 std::span<const NoisePattern> patterns) {
  std::optional<Noise> first;
  for (const NoisePattern& pattern : patterns) {
    const std::optional<Noise> noise = find_noise(text, from, pattern);
    if (noise && (!first || noise->begin < first->begin)) first = noise;
  }
  return first;
}

}  // namespace

ReportFilter::ReportFilter(const std::string& token)
    : marker_(report_marker(token)) {}

void ReportFilter::feed(absl::string_view bytes, std::string* text,
                        std::vector<Report>* reports) {
  held_.append(bytes.data(), bytes.size());
  const absl::string_view stream = held_;
  size_t done = 0;
  while (done < stream.size()) {
    const size_t begin = std::min(stream.find(marker_[0], done), stream.size());
    text->append(stream.data() + done, begin - done);
    done = begin;
    const absl::string_view rest = stream.substr(begin);
    if (absl::StartsWith(marker_, rest)) break;
    const size_t newline = rest.substr(0, kMaxReportBytes).find('\n');
    if (!absl::StartsWith(rest, marker_)) {
      text->push_back(rest[0]);
      done += 1;
    } else if (newline != absl::string_view::npos) {
      const auto report =
          parse_report(rest.substr(marker_.size(), newline - marker_.size()));
      if (report) reports->push_back(*report);
      if (!report) text->append(rest.data(), newline + 1);
      done += newline + 1;
    } else if (rest.size() < kMaxReportBytes) {
      break;
    } else {
      text->append(marker_);
      done += marker_.size();
    }
  }
  held_.erase(0, done);
}

void ReportFilter::finish(std::string* text) {
  text->append(held_);
  held_.clear();
}

void NoiseFilter::feed(absl::string_view bytes, std::string* text) {
  held_.append(bytes.data(), bytes.size());
  size_t done = 0;
  while (const std::optional<Noise> noise =
             first_noise(held_, done, patterns_)) {
    text->append(held_, done, noise->begin - done);
    done = noise->complete ? noise->end : noise->begin;
    if (!noise->complete) {
      held_.erase(0, done);
      return;
    }
  }
  text->append(held_, done);
  held_.clear();
}

void NoiseFilter::finish(std::string* text) {
  text->append(held_);
  held_.clear();
}

}  // namespace hvd::launcher
