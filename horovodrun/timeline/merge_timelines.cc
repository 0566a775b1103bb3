// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/timeline/merge_timelines.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "horovodpp/core/status.h"
#include "horovodrun/timeline/clock_offset.h"
#include "horovodrun/timeline/timeline_elements.h"

namespace hvd::launcher {
namespace {

// The times of two ranks on one clock: what the conversion of the processor's
// counter may be wrong.
constexpr double kSameClockErrorUs = 1;

// Replaces the value of a member, if the element has it.
void replace_value(std::string& element, std::string_view key,
                   const std::string& value) {
  const auto at = element.find(key);
  if (at == element.npos) return;
  const auto begin = at + key.size();
  element.replace(begin, element.find_first_of(",}", begin) - begin, value);
}

void insert_behind(std::string& element, std::string_view key,
                   const std::string& text) {
  const auto at = element.find(key);
  if (at != element.npos) element.insert(at + key.size(), text);
}

class Merger {
 public:
  explicit Merger(std::ofstream& out) : out_(out) {}

  // `shift_us` is added to all times, besides the offset.
  void add(TimelineElements& part, const ClockOffset& offset, double shift_us);
  void close() { out_ << "\n]\n"; }

 private:
  void write(std::string_view element) {
    out_ << (is_empty_ ? "[\n" : ",\n") << element;
    is_empty_ = false;
  }

  std::ofstream& out_;
  bool is_empty_ = true;
  int next_pid_ = 0;
};

void Merger::add(TimelineElements& part, const ClockOffset& offset,
                 double shift_us) {
  const int first_pid = next_pid_;
  const std::string rank = absl::StrCat("rank ", part.head().rank);
  part.rewind();
  while (const auto found = part.next()) {
    std::string element(*found);
    const auto pid = number_of(element, R"("pid": )");
    if (!pid) continue;
    const int moved = first_pid + static_cast<int>(*pid);
    next_pid_ = std::max(next_pid_, moved + 1);
    replace_value(element, R"("pid": )", absl::StrCat(moved));
    if (const auto at = number_of(element, R"("ts": )")) {
      replace_value(element, R"("ts": )",
                    absl::StrFormat("%.3f", *at + offset.at(*at) + shift_us));
    }
    if (*pid != 0 && string_member(element, R"("name": )") == "process_name") {
      insert_behind(element, R"("args": {"name": ")", rank + " ");
    }
    replace_value(element, R"("sort_index": )", absl::StrCat(moved));
    replace_value(element, R"("s": )", R"("p")");
    write(element);
  }
  const std::string error = offset.error_us() < 0
                                ? "null"
                                : absl::StrFormat("%.3f", offset.error_us());
  write(absl::StrFormat(
      R"({"name": "clock_offset", "ph": "M", "pid": %d, "args": )"
      R"({"offset_us": %.3f, "error_us": %s, "from": "%s"}})",
      first_pid, offset.at(0) + shift_us, error, offset.source()));
}

ClockOffset offset_of(const TimelineHead& first, const TimelineHead& other,
                      const std::optional<Batches>& of_first,
                      TimelineElements& elements) {
  using Source = ClockOffset::Source;
  if (!first.clock.empty() && first.clock == other.clock) {
    const auto apart = static_cast<double>(other.steady_ns - first.steady_ns);
    return ClockOffset::constant(apart / 1e3, Source::kSameClock,
                                 kSameClockErrorUs);
  }
  const auto apart = static_cast<double>(other.epoch_us - first.epoch_us);
  return ClockOffset::of_batches(
      *of_first, batches_of(elements),
      ClockOffset::constant(apart, Source::kWallClock, -1));
}

absl::Status write_merged(std::vector<TimelineElements>& parts,
                          std::ofstream& out, const std::string& path) {
  const TimelineHead& first = parts[0].head();
  std::optional<Batches> of_first;
  const bool needs_batches = std::any_of(
      parts.begin(), parts.end(), [&](const TimelineElements& part) {
        return first.clock.empty() || part.head().clock != first.clock;
      });
  if (needs_batches && parts.size() > 1) of_first = batches_of(parts[0]);
  std::vector<ClockOffset> offsets = {
      ClockOffset::constant(0, ClockOffset::Source::kSameClock, 0)};
  for (std::size_t i = 1; i < parts.size(); ++i) {
    offsets.push_back(offset_of(first, parts[i].head(), of_first, parts[i]));
  }
  // Times begin with the earliest rank: none is negative.
  double shift_us = 0;
  for (const ClockOffset& offset : offsets) {
    shift_us = std::max(shift_us, -offset.at(0));
  }
  Merger merger(out);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    merger.add(parts[i], offsets[i], shift_us);
  }
  merger.close();
  out.close();
  if (out.good()) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat(path, ": ", std::strerror(errno == 0 ? EIO : errno)));
}

}  // namespace

absl::Status merge_timelines(const std::vector<std::string>& files,
                             const std::string& to) {
  std::vector<TimelineElements> parts;
  for (const std::string& file : files) {
    HVD_ASSIGN_OR_RETURN(TimelineElements part, TimelineElements::open(file));
    parts.push_back(std::move(part));
  }
  if (parts.empty()) return absl::InvalidArgumentError("no file to merge");
  std::sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) {
    return a.head().rank < b.head().rank;
  });
  const std::string draft = to + ".merging";
  errno = 0;
  std::ofstream out(draft);
  if (!out.is_open()) {
    return absl::PermissionDeniedError(
        absl::StrCat(draft, ": ", std::strerror(errno)));
  }
  absl::Status written = write_merged(parts, out, draft);
  std::error_code error;
  if (written.ok()) {
    std::filesystem::rename(draft, to, error);
    if (!error) return absl::OkStatus();
    written = absl::InternalError(absl::StrCat(to, ": ", error.message()));
  }
  std::filesystem::remove(draft, error);
  return written;
}

int run_merge_timelines(const std::vector<std::string>& words) {
  constexpr int kUsageError = 2;
  if (words.size() < 2) {
    std::fputs(
        "horovodrun: --merge-timelines takes the file to write, and the files "
        "of ranks\n",
        stderr);
    return kUsageError;
  }
  const absl::Status merged =
      merge_timelines({words.begin() + 1, words.end()}, words[0]);
  if (merged.ok()) return 0;
  std::fputs(absl::StrCat(
                 "horovodrun: cannot merge timelines: ", merged.message(), "\n")
                 .c_str(),
             stderr);
  return 1;
}

}  // namespace hvd::launcher
