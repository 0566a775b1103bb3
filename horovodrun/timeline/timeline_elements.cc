// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/timeline/timeline_elements.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace hvd::launcher {
namespace {

// No text contains such a key: its quotes would be escaped.
std::optional<std::string_view> after(std::string_view element,
                                      std::string_view key) {
  const auto at = element.find(key);
  if (at == element.npos) return std::nullopt;
  return element.substr(at + key.size());
}

std::optional<std::int64_t> count_of(std::string_view element,
                                     std::string_view key) {
  const auto text = after(element, key);
  std::int64_t count = 0;
  if (!text ||
      !absl::SimpleAtoi(std::string(text->substr(0, text->find_first_of(",}"))),
                        &count)) {
    return std::nullopt;
  }
  return count;
}

std::optional<TimelineHead> head_of(std::string_view element) {
  TimelineHead head;
  const auto name = string_member(element, R"("args": {"name": )");
  const auto epoch =
      count_of(element, R"("start_time_since_epoch_in_micros": )");
  if (!name || !epoch || name->substr(0, 5) != "rank " ||
      !absl::SimpleAtoi(std::string(name->substr(5)), &head.rank)) {
    return std::nullopt;
  }
  head.epoch_us = *epoch;
  head.steady_ns =
      count_of(element, R"("start_of_steady_clock_in_nanos": )").value_or(0);
  head.clock = std::string(string_member(element, R"("clock": )").value_or(""));
  return head;
}

}  // namespace

std::optional<double> number_of(std::string_view element,
                                std::string_view key) {
  const auto text = after(element, key);
  double number = 0;
  if (!text ||
      !absl::SimpleAtod(std::string(text->substr(0, text->find_first_of(",}"))),
                        &number)) {
    return std::nullopt;
  }
  return number;
}

std::optional<std::string_view> string_member(std::string_view element,
                                              std::string_view key) {
  const auto text = after(element, key);
  if (!text || text->empty() || text->front() != '"') return std::nullopt;
  for (std::size_t i = 1; i < text->size(); ++i) {
    if ((*text)[i] == '\\') {
      ++i;
    } else if ((*text)[i] == '"') {
      return text->substr(1, i - 1);
    }
  }
  return std::nullopt;
}

absl::StatusOr<TimelineElements> TimelineElements::open(
    const std::string& path) {
  TimelineElements elements;
  errno = 0;
  elements.file_.open(path);
  const auto first = elements.next();
  if (!first && (!elements.file_.is_open() || elements.file_.bad())) {
    return absl::NotFoundError(absl::StrCat(
        path, ": ", errno != 0 ? std::strerror(errno) : "cannot be read"));
  }
  const auto head = first ? head_of(*first) : std::nullopt;
  if (!head) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": is no timeline of a rank"));
  }
  elements.head_ = *head;
  elements.rewind();
  return elements;
}

std::optional<std::string_view> TimelineElements::next() {
  while (std::getline(file_, line_)) {
    const std::string_view line = line_;
    if (line.empty() || line.front() != '{') continue;
    return line.back() == ',' ? line.substr(0, line.size() - 1) : line;
  }
  return std::nullopt;
}

void TimelineElements::rewind() {
  file_.clear();
  file_.seekg(0);
}

}  // namespace hvd::launcher
