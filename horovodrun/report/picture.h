// SPDX-License-Identifier: Apache-2.0
// Draws the ranks' lanes as SVG: the spans of training, exposed communication and
// hidden communication over time.
#pragma once

#include <string>
#include <vector>

#include "horovodrun/report/analysis.h"
#include "horovodrun/report/rank_trace.h"

namespace hvd::launcher::report {

inline constexpr int kMaxRectangles = 20'000;
inline constexpr int kMaxDrawnRanks = 16;

// The text for HTML: also in the value of an attribute.
std::string escaped(const std::string& text);

// A part of a lane, of one class of the style sheet.
struct Painted {
  Interval at = {};
  int kind = 0;
};

// The rectangles of `parts`, which are sorted, in `window`: at most twice
// `columns` rectangles. Each column of the window has one rectangle for all
// parts that are narrower: of the kind that takes most of their time.
std::vector<Painted> drawn(const std::vector<Painted>& parts,
                           const Interval& window, int columns);

// `id`: of the element, for the page's script.
std::string picture_of(const std::vector<RankTrace>& ranks,
                       const Analysis& analysis, const Interval& window,
                       const std::string& id);

// The indices of the ranks that are drawn: the first ones, and the latest.
std::vector<std::size_t> drawn_ranks(const Analysis& analysis);

// A step of median length.
Interval median_step(const Analysis& analysis);

}  // namespace hvd::launcher::report
