// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/report/picture.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "horovodpp/core/printable.h"
#include "horovodrun/report/document.h"

namespace hvd::launcher::report {
namespace {

constexpr double kWidth = 1000;
constexpr double kLabels = 70;  // To the left of the lanes.
constexpr double kLanes = kWidth - kLabels;
constexpr double kLane = 14;  // The height of a lane,
constexpr double kRank = 38;  // and of a rank.
constexpr double kAxis = 24;
constexpr int kMaxColumns = 2000;
constexpr int kTicks = 5;

constexpr int kHidden = 0;
constexpr int kExposed = 1;
constexpr int kFirstWork = 2;
constexpr int kWorkColors = 6;

class Drawer {
 public:
  Drawer(const Interval& window, int columns)
      : window_(window), columns_(columns) {}

  std::string take() { return std::move(svg_); }

  // `titles`: of each kind.
  void lane(std::vector<Painted> parts, double y,
            const std::vector<std::string>& titles) {
    std::sort(parts.begin(), parts.end(),
              [](const Painted& a, const Painted& b) {
                return a.at.begin < b.at.begin;
              });
    for (const Painted& one : drawn(parts, window_, columns_)) {
      const std::string& title = titles[static_cast<std::size_t>(one.kind)];
      absl::StrAppendFormat(
          &svg_,
          "<rect class=\"%s\" x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" "
          "height=\"%.0f\"><title>%s %s</title></rect>\n",
          class_of(one.kind), x(one.at.begin), y,
          std::max(0.3, x(one.at.end) - x(one.at.begin)), kLane, title,
          shown_time(one.at.length()));
    }
  }
  void label(double y, const std::string& text) {
    absl::StrAppendFormat(&svg_, "<text x=\"0\" y=\"%.0f\">%s</text>\n", y,
                          text);
  }
  // The part that the page's script zooms.
  void begin_lanes(double height) {
    absl::StrAppendFormat(
        &svg_,
        "<svg class=\"lanes\" x=\"%.0f\" width=\"%.0f\" height=\"%.0f\" "
        "viewBox=\"0 0 %.0f %.0f\" preserveAspectRatio=\"none\">\n",
        kLabels, kLanes, height, kLanes, height);
  }
  void end_lanes() { svg_ += "</svg>\n"; }
  // Lines at the steps, unless they are too many.
  void steps(const std::vector<double>& times, double height) {
    constexpr std::ptrdiff_t kMaxLines = 100;
    const auto first =
        std::lower_bound(times.begin(), times.end(), window_.begin);
    const auto last = std::upper_bound(first, times.end(), window_.end);
    if (std::distance(first, last) > kMaxLines) return;
    for (auto time = first; time != last; ++time) {
      absl::StrAppendFormat(
          &svg_,
          "<line class=\"step\" x1=\"%.2f\" x2=\"%.2f\" y1=\"0\" "
          "y2=\"%.0f\"/>\n",
          x(*time), x(*time), height);
    }
  }
  void axis(double y) {
    for (int i = 0; i <= kTicks; ++i) {
      const double time = window_.length() * i / kTicks;
      absl::StrAppendFormat(
          &svg_, "<text class=\"tick\" x=\"%.1f\" y=\"%.0f\"%s>%s</text>\n",
          kLabels + kLanes * i / kTicks, y,
          i == kTicks ? " text-anchor=\"end\""
          : i > 0     ? " text-anchor=\"middle\""
                      : "",
          shown_time(time));
    }
  }

 private:
  // From the lanes' left.
  double x(double time) const {
    return kLanes * (time - window_.begin) / window_.length();
  }
  static std::string class_of(int kind) {
    if (kind == kHidden) return "hidden";
    if (kind == kExposed) return "exposed";
    return absl::StrCat("work work", (kind - kFirstWork) % kWorkColors);
  }

  const Interval window_;
  const int columns_;
  std::string svg_;
};

void paint(std::vector<Painted>& parts, const Intervals& set, int kind) {
  for (const Interval& one : set) parts.push_back({one, kind});
}

}  // namespace

std::string escaped(const std::string& text) {
  return absl::StrReplaceAll(printable(text), {{"&", "&amp;"},
                                               {"<", "&lt;"},
                                               {">", "&gt;"},
                                               {"\"", "&quot;"},
                                               {"'", "&#39;"}});
}

std::vector<Painted> drawn(const std::vector<Painted>& parts,
                           const Interval& window, int columns) {
  std::vector<Painted> result;
  if (window.length() <= 0) return result;
  const double wide = window.length() / columns;
  std::map<int, double> narrow;  // The time of each kind in the column.
  int column = -1;
  const auto flush = [&] {
    const auto most = std::max_element(
        narrow.begin(), narrow.end(),
        [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most != narrow.end()) {
      const double begin = window.begin + wide * column;
      result.push_back({{begin, begin + wide}, most->first});
    }
    narrow.clear();
  };
  for (const Painted& one : parts) {
    const Interval at = {std::max(one.at.begin, window.begin),
                         std::min(one.at.end, window.end)};
    if (at.begin >= at.end) continue;
    if (at.length() >= wide) {
      result.push_back({at, one.kind});
      continue;
    }
    const int its = std::min(
        columns - 1, static_cast<int>((at.begin - window.begin) / wide));
    if (its != column) flush();
    column = its;
    narrow[one.kind] += at.length();
  }
  flush();
  return result;
}

std::vector<std::size_t> drawn_ranks(const Analysis& analysis) {
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < analysis.ranks.size(); ++i) {
    if (result.size() < kMaxDrawnRanks) result.push_back(i);
  }
  const auto latest = static_cast<std::size_t>(std::max(0, analysis.latest));
  if (latest >= result.size()) result.back() = latest;
  return result;
}

Interval median_step(const Analysis& analysis) {
  Interval best = {};
  double off = HUGE_VAL;
  for (std::size_t i = 1; i < analysis.step_begins.size(); ++i) {
    const Interval step = {analysis.step_begins[i - 1],
                           analysis.step_begins[i]};
    const double its = std::abs(step.length() - analysis.step_us);
    if (its < off) {
      off = its;
      best = step;
    }
  }
  return best;
}

std::string picture_of(const std::vector<RankTrace>& ranks,
                       const Analysis& analysis, const Interval& window,
                       const std::string& id) {
  const std::vector<std::size_t> shown = drawn_ranks(analysis);
  // Wide spans of work overlap; two lanes a rank, twice the columns each. A
  // page has two pictures.
  const int columns = std::min(
      kMaxColumns, kMaxRectangles / 8 / static_cast<int>(shown.size()));
  const double height = kRank * static_cast<double>(shown.size());
  Drawer drawer(window, columns);
  double y = 0;
  for (const std::size_t i : shown) {
    drawer.label(y + kLane + 6, absl::StrCat("rank ", ranks[i].rank));
    y += kRank;
  }
  drawer.axis(height + kAxis - 8);
  drawer.begin_lanes(height);
  y = 0;
  for (const std::size_t i : shown) {
    const RankFacts& facts = analysis.ranks[i];
    std::vector<std::string> titles = {"hidden communication",
                                       "exposed communication"};
    for (const std::string& kind : ranks[i].kinds_of_work) {
      titles.push_back(escaped(kind));
    }
    std::vector<Painted> work;
    for (const WorkSpan& span : ranks[i].work) {
      work.push_back({span.at, kFirstWork + span.kind});
    }
    std::vector<Painted> communication;
    paint(communication, facts.hidden, kHidden);
    paint(communication, facts.exposed, kExposed);
    drawer.lane(std::move(work), y + 3, titles);
    drawer.lane(std::move(communication), y + 4 + kLane, titles);
    y += kRank;
  }
  drawer.steps(analysis.step_begins, height);
  drawer.end_lanes();
  return absl::StrFormat(
      "<svg id=\"%s\" data-us=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" "
      "aria-label=\"Lanes of the ranks, from %s to %s\" "
      "xmlns=\"http://www.w3.org/2000/svg\">\n%s</svg>\n",
      id, window.length(), kWidth, height + kAxis, shown_time(window.begin),
      shown_time(window.end), drawer.take());
}

}  // namespace hvd::launcher::report
