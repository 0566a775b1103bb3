// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/report/document.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "horovodpp/core/printable.h"

namespace hvd::launcher::report {
namespace {

constexpr std::size_t kMaxTensors = 30;
constexpr std::size_t kMaxInFlight = 5;

std::string percent(double share) {
  return absl::StrFormat("%.0f %%", 100 * share);
}

// A share that a step gains or loses: "-12 %".
std::string change(double now, double before) {
  if (before <= 0) return "";
  return absl::StrFormat("%+.0f %%", 100 * (now / before - 1));
}

class Author {
 public:
  Author(const std::vector<RankTrace>& ranks, const Analysis& analysis)
      : ranks_(ranks), facts_(analysis) {}

  std::vector<Section> write() {
    add_job();
    add_exposed();
    add_latest();
    add_tensors();
    add_fusion();
    add_planes();
    add_what_if();
    return std::move(document_);
  }

 private:
  Section& begin(const std::string& title) {
    return document_.emplace_back(Section{.title = title});
  }
  void add_job();
  void add_warnings(Section& section);
  void add_exposed();
  void add_latest();
  void add_tensors();
  void add_fusion();
  void add_planes();
  void add_what_if();
  Table tensor_table(const std::vector<TensorFacts>& tensors) const;

  const std::vector<RankTrace>& ranks_;
  const Analysis& facts_;
  std::vector<Section> document_;
};

void Author::add_job() {
  Section& section = begin("Job");
  section.lines.push_back(absl::StrCat("ranks: ", ranks_.size(),
                                       " in the timelines, for ",
                                       shown_time(facts_.duration_us)));
  if (facts_.steps() == 0) {
    section.lines.push_back(
        "steps: unknown, since no tensor is reduced twice and no step is "
        "marked");
  } else {
    section.lines.push_back(absl::StrCat("steps: ", facts_.steps(),
                                         ", told apart by ",
                                         printable(facts_.steps_from)));
    section.lines.push_back(absl::StrCat(
        "step time: ", shown_time(facts_.step_us), " in the median, ",
        shown_time(facts_.slow_step_us), " at 95 %"));
    section.lines.push_back(absl::StrCat(
        "communication of a step: ", shown_time(facts_.exposed_of_step_us),
        " exposed, ", shown_time(facts_.hidden_of_step_us), " hidden"));
  }
  add_warnings(section);
}

void Author::add_warnings(Section& section) {
  for (const RankTrace& rank : ranks_) {
    const std::string name = absl::StrCat("rank ", rank.rank);
    if (rank.lost_events > 0) {
      section.lines.push_back(
          absl::StrFormat("%s: %.0f events are missing in the timeline", name,
                          rank.lost_events));
    }
    if (!rank.break_reason.empty()) {
      section.lines.push_back(absl::StrCat(
          name, ": the job broke: ", printable(rank.break_reason)));
    }
    if (!rank.is_complete) {
      section.lines.push_back(
          absl::StrCat(name, ": the file ends in the middle"));
    }
    if (rank.in_flight.empty()) continue;
    std::vector<std::string> shown = rank.in_flight;
    shown.resize(std::min(shown.size(), kMaxInFlight));
    section.lines.push_back(absl::StrCat(
        name, ": in flight at the end: ", printable(absl::StrJoin(shown, ", ")),
        rank.in_flight.size() > shown.size()
            ? absl::StrCat(" and ", rank.in_flight.size() - shown.size(),
                           " more")
            : ""));
  }
}

void Author::add_exposed() {
  Section& section = begin("Exposed communication");
  section.lines.push_back(
      facts_.basis == Basis::kWaits
          ? "Exposed: a thread of the program is blocked by an operation "
            "(WAIT)."
      : facts_.basis == Basis::kWork
          ? "Exposed: negotiation and execution that overlap no span of "
            "training, since the timelines have no spans WAIT."
          : "The timelines have neither spans WAIT nor spans of training. So "
            "all negotiation and execution counts as exposed: an upper bound.");
  Table table = {.header = {"rank", "exposed", "hidden",
                            "share of time exposed", "work in spans"}};
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    const RankFacts& rank = facts_.ranks[i];
    const double exposed = total_length(rank.exposed);
    const double extent = ranks_[i].extent.length();
    table.rows.push_back({absl::StrCat(rank.rank), shown_time(exposed),
                          shown_time(total_length(rank.hidden)),
                          percent(extent > 0 ? exposed / extent : 0),
                          shown_time(total_length(rank.work))});
  }
  section.tables.push_back(std::move(table));
}

void Author::add_latest() {
  if (ranks_.size() < 2) return;
  Section& section = begin("Slowest rank");
  if (facts_.latest < 0) {
    section.lines.push_back("Unknown: the timelines have no batch in common.");
    return;
  }
  const RankFacts& latest =
      facts_.ranks[static_cast<std::size_t>(facts_.latest)];
  section.lines.push_back(absl::StrFormat(
      "%s: rank %d is the last at %s of %.0f batches; the others wait %s for "
      "it in the median batch.",
      facts_.is_slow ? "Slow" : "No rank is slow", latest.rank,
      percent(latest.last_share), facts_.compared_batches,
      shown_time(std::max(0.0, latest.lateness_us))));
  Table table = {.header = {"rank", "lateness", "last at"}};
  for (const RankFacts& rank : facts_.ranks) {
    table.rows.push_back({absl::StrCat(rank.rank), shown_time(rank.lateness_us),
                          percent(rank.last_share)});
  }
  section.tables.push_back(std::move(table));
}

Table Author::tensor_table(const std::vector<TensorFacts>& tensors) const {
  Table table = {.header = {"tensor", "calls", "bytes", "waited",
                            "share of waiting", "ran"}};
  for (const TensorFacts& one : tensors) {
    if (table.rows.size() == kMaxTensors) break;
    table.rows.push_back({printable(one.name),
                          absl::StrFormat("%.0f", one.calls),
                          shown_bytes(one.bytes), shown_time(one.waited_us),
                          percent(one.waited_share), shown_time(one.ran_us)});
  }
  return table;
}

void Author::add_tensors() {
  const std::string most =
      facts_.tensors.size() > kMaxTensors
          ? absl::StrCat(" The first ", kMaxTensors, " of ",
                         facts_.tensors.size(), ".")
          : "";
  Section& by_time = begin("Tensors by time waited");
  by_time.lines.push_back(
      "Waited: negotiation, from the call to the batch. Times and bytes are "
      "of a call." +
      most);
  by_time.tables.push_back(tensor_table(facts_.tensors));
  std::vector<TensorFacts> sorted = facts_.tensors;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const TensorFacts& a, const TensorFacts& b) {
                     return a.bytes * a.calls > b.bytes * b.calls;
                   });
  Section& by_bytes = begin("Tensors by bytes");
  if (!most.empty()) by_bytes.lines.push_back(most.substr(1));
  by_bytes.tables.push_back(tensor_table(sorted));
}

void Author::add_fusion() {
  Section& section = begin("Fusion");
  if (facts_.batches == 0) {
    section.lines.push_back("Unknown: the timelines have no batch numbers.");
    return;
  }
  section.lines.push_back(absl::StrFormat(
      "%.0f batches a rank; a batch has %.1f tensors and %s in the mean; %s "
      "have one tensor.",
      facts_.batches, facts_.tensors_of_batch,
      shown_bytes(facts_.bytes_of_batch), percent(facts_.single_share)));
}

void Author::add_planes() {
  Section& section = begin("Planes");
  if (facts_.planes.empty()) {
    section.lines.push_back("The timelines have no call of a plane.");
    return;
  }
  section.lines.push_back(
      "Bandwidth: the tensors' bytes by the time of batches. The fit is the "
      "time of a batch as latency + bytes / rate, on the rank where it takes "
      "least.");
  Table table = {.header = {"plane", "batches", "time", "bytes", "bandwidth",
                            "latency of fit", "rate of fit", "error of fit"}};
  for (const PlaneFacts& plane : facts_.planes) {
    const CostFit& cost = plane.cost;
    table.rows.push_back(
        {printable(plane.name), absl::StrFormat("%.0f", plane.batches),
         shown_time(plane.time_us), shown_bytes(plane.bytes),
         plane.time_us > 0 && plane.bytes > 0
             ? shown_bytes(plane.bytes / plane.time_us * 1e6) + "/s"
             : "",
         cost.has_sizes ? shown_time(cost.alpha_us) : "one size",
         cost.beta_us_per_byte > 0
             ? shown_bytes(1e6 / cost.beta_us_per_byte) + "/s"
             : "",
         percent(cost.error)});
  }
  section.tables.push_back(std::move(table));
}

void Author::add_what_if() {
  Section& section = begin("What if");
  if (facts_.what_if.empty()) {
    section.lines.push_back("Unknown, without steps and calls of planes.");
    return;
  }
  section.lines.push_back(
      "The median step, with batches as the fit has them. Work takes as long "
      "as it took, so only exposed communication becomes shorter.");
  Table table = {.header = {"with", "a step takes", "change"}};
  table.rows.push_back({"this run", shown_time(facts_.step_us), ""});
  for (const WhatIf& one : facts_.what_if) {
    table.rows.push_back({one.change, shown_time(one.step_us),
                          change(one.step_us, facts_.step_us)});
  }
  section.tables.push_back(std::move(table));
}

// Columns of UTF-8 text.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(),
      [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

void append_table(std::string& text, const Table& table) {
  std::vector<std::vector<std::string>> rows = {table.header};
  rows.insert(rows.end(), table.rows.begin(), table.rows.end());
  std::vector<std::size_t> widths(table.header.size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], width_of(row[i]));
    }
  }
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - width_of(row[i]), ' ');
      // The first column has names.
      absl::StrAppend(&line, "  ", i == 0 ? row[i] + space : space + row[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    absl::StrAppend(&text, line, "\n");
  }
}

// With three digits.
std::string scaled(double value, const char* unit) {
  const double size = std::abs(value);
  return absl::StrFormat("%.*f %s",
                         size >= 100  ? 0
                         : size >= 10 ? 1
                                      : 2,
                         value, unit);
}

}  // namespace

std::string shown_time(double us) {
  const double size = std::abs(us);
  if (size < 0.001) return "0";
  if (size < 1000) return scaled(us, "us");
  if (size < 1e6) return scaled(us / 1e3, "ms");
  return scaled(us / 1e6, "s");
}

std::string shown_bytes(double bytes) {
  constexpr std::array<const char*, 4> kUnits = {"kB", "MB", "GB", "TB"};
  if (bytes < 1000) return absl::StrFormat("%.0f B", bytes);
  std::size_t unit = 0;
  double value = bytes / 1000;
  while (value >= 1000 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  return scaled(value, kUnits[unit]);
}

std::vector<Section> document_of(const std::vector<RankTrace>& ranks,
                                 const Analysis& analysis) {
  return Author(ranks, analysis).write();
}

std::string to_text(const std::vector<Section>& document) {
  std::string text;
  for (const Section& section : document) {
    absl::StrAppend(&text, text.empty() ? "" : "\n", section.title, "\n");
    for (const std::string& line : section.lines) {
      absl::StrAppend(&text, "  ", line, "\n");
    }
    for (const Table& table : section.tables) append_table(text, table);
  }
  return text;
}

}  // namespace hvd::launcher::report
