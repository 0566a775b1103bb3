// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/report/page.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "horovodrun/report/picture.h"

namespace hvd::launcher::report {
namespace {

constexpr absl::string_view kHead = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width"/>
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"/>
<title>horovodrun report</title>
<style>
:root { color-scheme: light dark; --paper: #fff; --ink: #1b1f24; --line: #d0d7de; --dim: #59636e;
  --exposed: #cf222e; --hidden: #4493e0; --work0: #8250df; --work1: #bf8700; --work2: #1a7f37;
  --work3: #0a7ea4; --work4: #bc4c00; --work5: #6e7781; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #0d1117; --ink: #e6edf3; --line: #30363d; --dim: #9198a1; --exposed: #ff5c57;
    --hidden: #4493f8; --work0: #ab7df8; --work1: #d29922; --work2: #3fb950; --work3: #39c5cf;
    --work4: #f0883e; --work5: #8b949e; }
}
body { margin: 2rem auto; max-width: 70rem; padding: 0 1rem; background: var(--paper);
  color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
svg[id] { width: 100%; border: 1px solid var(--line); touch-action: none; }
svg text { fill: var(--ink); font-size: 12px; } svg .tick { fill: var(--dim); font-size: 11px; }
.exposed { fill: var(--exposed); } .hidden { fill: var(--hidden); }
.work0 { fill: var(--work0); } .work1 { fill: var(--work1); } .work2 { fill: var(--work2); }
.work3 { fill: var(--work3); } .work4 { fill: var(--work4); } .work5 { fill: var(--work5); }
.step { stroke: var(--dim); stroke-width: .4; stroke-dasharray: 2 2;
  vector-effect: non-scaling-stroke; }
.key { display: inline-block; margin-right: 1rem; }
.key svg { width: .8em; height: .8em; }
.note { color: var(--dim); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; }
th, td { padding: .15rem .7rem; border-bottom: 1px solid var(--line); text-align: right;
  white-space: nowrap; }
th { color: var(--dim); font-weight: 600; }
th:first-child, td:first-child { text-align: left; }
</style>
</head>
<body>
<h1>horovodrun report</h1>
)";

// Zooms into a picture; without it, the picture shows everything.
constexpr absl::string_view kScript = R"(<script>
"use strict";
window.addEventListener("error", event => { document.body.dataset.error = event.message; });
const shown = us => us === 0 ? "0" : us < 1e3 ? us.toPrecision(3) + " us" : us < 1e6 ?
  (us / 1e3).toPrecision(3) + " ms" : (us / 1e6).toPrecision(4) + " s";
for (const picture of document.querySelectorAll("svg[id]")) {
  const lanes = picture.querySelector(".lanes"), ticks = picture.querySelectorAll(".tick");
  const whole = lanes.viewBox.baseVal.width, height = lanes.viewBox.baseVal.height;
  let left = 0, width = whole, held = null;
  const show = () => {
    width = Math.min(whole, Math.max(whole / 10000, width));
    left = Math.min(Math.max(left, 0), whole - width);
    lanes.setAttribute("viewBox", [left, 0, width, height].join(" "));
    ticks.forEach((tick, i) => {
      const at = left + width * i / (ticks.length - 1);
      tick.textContent = shown(picture.dataset.us * at / whole);
    });
  };
  const place = event => {
    const at = picture.getBoundingClientRect(), unit = at.width / picture.viewBox.baseVal.width;
    return ((event.clientX - at.left) / unit - lanes.x.baseVal.value) / whole;
  };
  picture.addEventListener("wheel", event => {
    event.preventDefault();
    const at = left + place(event) * width;
    width = Math.min(whole, width * Math.exp(event.deltaY / 500));
    left = at - place(event) * width;
    show();
  }, {passive: false});
  picture.addEventListener("pointerdown", event => { held = place(event); });
  picture.addEventListener("pointermove", event => {
    if (held === null) return;
    left -= (place(event) - held) * width;
    held = place(event);
    show();
  });
  window.addEventListener("pointerup", () => { held = null; });
  picture.addEventListener("dblclick", () => { left = 0; width = whole; show(); });
  show();
  picture.dataset.zoom = "ready";
}
</script>
)";

std::string key(const std::string& style, const std::string& text) {
  return absl::StrCat(
      "<span class=\"key\"><svg viewBox=\"0 0 1 1\" aria-hidden=\"true\"><rect "
      "class=\"",
      style, "\" width=\"1\" height=\"1\"/></svg> ", text, "</span>\n");
}

std::string keys(const std::vector<RankTrace>& ranks) {
  std::string result =
      absl::StrCat("<p>\n", key("exposed", "exposed communication"),
                   key("hidden", "hidden communication"));
  std::size_t number = 0;
  for (const std::string& kind : ranks[0].kinds_of_work) {
    absl::StrAppend(&result,
                    key(absl::StrCat("work", number++ % 6), escaped(kind)));
  }
  return result + "</p>\n";
}

std::string pictures(const std::vector<RankTrace>& ranks,
                     const Analysis& analysis) {
  std::string result = keys(ranks);
  const Interval step = median_step(analysis);
  if (step.length() > 0) {
    absl::StrAppend(&result, "<h2>A step of median length</h2>\n",
                    picture_of(ranks, analysis, step, "step"));
  }
  absl::StrAppend(&result, "<h2>All</h2>\n");
  if (analysis.duration_us > 0) {
    absl::StrAppend(
        &result, picture_of(ranks, analysis, {0, analysis.duration_us}, "all"));
  }
  absl::StrAppend(&result,
                  "<p class=\"note\">The wheel zooms, dragging moves, a double "
                  "click shows all. What is narrower than a pixel is drawn as "
                  "one rectangle.");
  if (analysis.ranks.size() > kMaxDrawnRanks) {
    absl::StrAppend(&result, " Drawn are ", kMaxDrawnRanks, " of ",
                    analysis.ranks.size(),
                    " ranks: the first ones, and the slowest.");
  }
  return result + "</p>\n";
}

void append_row(std::string& html, const std::vector<std::string>& row,
                absl::string_view cell) {
  absl::StrAppend(&html, "<tr>");
  for (const std::string& one : row) {
    absl::StrAppend(&html, "<", cell, ">", escaped(one), "</", cell, ">");
  }
  absl::StrAppend(&html, "</tr>\n");
}

std::string shown(const Section& section) {
  std::string html = absl::StrCat("<h2>", escaped(section.title), "</h2>\n");
  for (const std::string& line : section.lines) {
    absl::StrAppend(&html, "<p>", escaped(line), "</p>\n");
  }
  for (const Table& table : section.tables) {
    absl::StrAppend(&html, "<div class=\"wide\"><table>\n<thead>\n");
    append_row(html, table.header, "th");
    absl::StrAppend(&html, "</thead>\n<tbody>\n");
    for (const auto& row : table.rows) append_row(html, row, "td");
    absl::StrAppend(&html, "</tbody>\n</table></div>\n");
  }
  return html;
}

}  // namespace

std::string page_of(const std::vector<RankTrace>& ranks,
                    const Analysis& analysis,
                    const std::vector<Section>& document) {
  std::string page = std::string(kHead);
  for (std::size_t i = 0; i < document.size(); ++i) {
    absl::StrAppend(&page, shown(document[i]));
    // Behind the summary.
    if (i == 0) absl::StrAppend(&page, pictures(ranks, analysis));
  }
  return absl::StrCat(page, kScript, "</body>\n</html>\n");
}

}  // namespace hvd::launcher::report
