// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/output/line_merger.h"

#include <algorithm>

namespace hvd::launcher {

std::size_t LineMerger::add_source() {
  sources_.emplace_back();
  return sources_.size() - 1;
}

void LineMerger::feed(std::size_t source, absl::string_view bytes,
                      Clock::TimePoint now, std::string* text) {
  Source& from = sources_[source];
  const std::size_t newline = bytes.rfind('\n');
  if (newline != absl::string_view::npos) {
    from.lines = from.held.size() + newline + 1;
  }
  from.held.append(bytes.data(), bytes.size());
  pass_on(now, text);
}

void LineMerger::finish(std::size_t source, Clock::TimePoint now,
                        std::string* text) {
  sources_[source].has_ended = true;
  pass_on(now, text);
}

void LineMerger::look(Clock::TimePoint now, std::string* text) {
  pass_on(now, text);
}

Clock::TimePoint LineMerger::deadline() const {
  const bool anything_waits =
      open_ != kNone &&
      std::any_of(sources_.begin(), sources_.end(),
                  [](const Source& source) { return !source.held.empty(); });
  return anything_waits ? opened_at_ + kLineTimeout : Clock::TimePoint::max();
}

bool LineMerger::is_full(std::size_t source) const {
  return sources_[source].held.size() >= kMaxHeld;
}

void LineMerger::take_lines(Source& source, std::string* text) {
  text->append(source.held, 0, source.lines);
  source.held.erase(0, source.lines);
  source.lines = 0;
}

void LineMerger::pass_on(Clock::TimePoint now, std::string* text) {
  if (open_ != kNone) {
    Source& open = sources_[open_];
    const bool ends = open.lines > 0 || open.has_ended;
    if (open.lines > 0) {
      take_lines(open, text);
    } else {
      text->append(open.held);
      open.held.clear();
    }
    if (!ends && now < opened_at_ + kLineTimeout) return;
    open_ = kNone;
  }
  for (Source& source : sources_) take_lines(source, text);
  begin_a_line(now, text);
}

// Sources that have a line take turns, so that none blocks the others.
void LineMerger::begin_a_line(Clock::TimePoint now, std::string* text) {
  for (std::size_t i = 1; i <= sources_.size(); ++i) {
    const std::size_t next = (last_ + i) % sources_.size();
    Source& source = sources_[next];
    if (source.held.empty()) continue;
    text->append(source.held);
    source.held.clear();
    if (source.has_ended) continue;
    open_ = last_ = next;
    opened_at_ = now;
    return;
  }
}

}  // namespace hvd::launcher
