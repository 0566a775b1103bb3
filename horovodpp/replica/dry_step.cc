// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/replica/dry_step.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "horovodpp/core/memory/checksum.h"
#include "horovodpp/replica/objects.h"
#include "horovodpp/runtime/runtime.h"

namespace hvd::replica {
namespace {

using Parameters = std::vector<DryStep::Parameter>;

std::int64_t bits_of(std::uint64_t value) {
  return static_cast<std::int64_t>(value);
}

// --- Exchanged values ---

Value packed(const Parameters& parameters) {
  Value::Array rows;
  for (const DryStep::Parameter& each : parameters) {
    Value::Array row;
    row.emplace_back(each.name);
    row.emplace_back(each.layout);
    row.emplace_back(bits_of(each.checksum));
    row.emplace_back(each.gradient.has_value());
    row.emplace_back(each.place);
    rows.emplace_back(std::move(row));
  }
  return rows;
}

Parameters unpacked(const Value& rows) {
  Parameters parameters;
  for (const Value& row : rows.as_array()) {
    DryStep::Parameter& each = parameters.emplace_back();
    each.name = row.at(0).as_string();
    each.layout = row.at(1).as_string();
    each.checksum = static_cast<std::uint64_t>(row.at(2).as_int());
    if (row.at(3).as_bool()) each.gradient = 0;
    each.place = row.at(4).as_int();
  }
  return parameters;
}

// The checksum of the loss and of all gradients.
std::uint64_t result_of(const DryStep& step) {
  std::uint64_t sum = checksum(&step.loss, sizeof(step.loss));
  for (const DryStep::Parameter& each : step.parameters) {
    sum = combined(sum, each.gradient.value_or(0));
  }
  return sum;
}

// --- Differences between a rank and rank 0 ---

// The names that share a fault, as one sentence: "'a' (and 3 others) <fault>".
class Faults {
 public:
  void add(const std::string& fault, const std::string& name) {
    names_[fault].push_back(name);
  }
  std::vector<std::string> sentences() const {
    std::vector<std::string> all;
    for (const auto& [fault, names] : names_) {
      const std::size_t others = names.size() - 1;
      all.push_back(absl::StrCat(
          "'", names.front(), "'",
          others == 0   ? std::string()
          : others == 1 ? std::string(" (and 1 other)")
                        : absl::StrCat(" (and ", others, " others)"),
          " ", fault));
    }
    return all;
  }

 private:
  std::map<std::string, std::vector<std::string>> names_;
};

// The findings of one rank, as sentences.
class Findings {
 public:
  Findings(const DryStep& mine, int rank)
      : mine_(mine), rank_(rank), here_(absl::StrCat("rank ", rank)) {}

  void compare_layouts(const Parameters& own, const Parameters& first,
                       const std::string& kind) {
    std::map<std::string, const DryStep::Parameter*> rest;
    for (const DryStep::Parameter& each : first) rest[each.name] = &each;
    for (const DryStep::Parameter& each : own) {
      const auto found = rest.find(each.name);
      if (found == rest.end()) {
        problems_.add(
            absl::StrCat("is a ", kind, " of ", here_, ", and not of rank 0"),
            each.name);
        continue;
      }
      const DryStep::Parameter& its = *found->second;
      rest.erase(found);
      if (each.layout != its.layout) {
        problems_.add(absl::StrCat("is ", each.layout, " on ", here_, ", and ",
                                   its.layout, " on rank 0"),
                      each.name);
      } else if (each.checksum != its.checksum) {
        problems_.add(absl::StrCat("has other values on ", here_,
                                   " than on rank 0: broadcast the ", kind,
                                   "s before training"),
                      each.name);
      }
      if (each.gradient.has_value() != its.gradient.has_value()) {
        const bool lacks = its.gradient.has_value();
        problems_.add(absl::StrCat("has a gradient on ",
                                   lacks ? std::string("rank 0") : here_,
                                   ", and none on ",
                                   lacks ? here_ : std::string("rank 0")),
                      each.name);
      }
    }
    for (const auto& [name, its] : rest) {
      problems_.add(
          absl::StrCat("is a ", kind, " of rank 0, and not of ", here_), name);
    }
  }

  void compare_order(const Parameters& first) {
    std::map<std::string, std::int64_t> places;
    for (const DryStep::Parameter& each : first) {
      places[each.name] = each.place;
    }
    for (const DryStep::Parameter& each : mine_.parameters) {
      const auto found = places.find(each.name);
      if (found == places.end() || found->second == each.place) continue;
      notes_.add(absl::StrCat("is not in the same place as on rank 0 in the "
                              "order of gradients of ",
                              here_, ": ranks wait longer for each other"),
                 each.name);
    }
  }

  void look_at_numbers() {
    if (!std::isfinite(mine_.loss)) {
      more_problems_.push_back(
          absl::StrCat("the loss of ", here_, " is ", mine_.loss));
    }
    if (!mine_.is_loss_reproduced) {
      more_notes_.push_back(absl::StrCat("the loss", differs_between_steps()));
    }
    for (const DryStep::Parameter& each : mine_.parameters) {
      if (!each.is_finite) {
        problems_.add(
            absl::StrCat("has a gradient on ", here_, " that is not finite"),
            each.name);
      }
      if (!each.is_reproduced) {
        notes_.add(absl::StrCat("has a gradient that", differs_between_steps()),
                   each.name);
      }
      if (rank_ == 0 && !each.gradient.has_value()) {
        notes_.add("has no gradient: the loss does not depend on it",
                   each.name);
      }
    }
  }

  Value packed() const {
    const auto texts = [](std::vector<std::string> all,
                          const std::vector<std::string>& more) {
      all.insert(all.end(), more.begin(), more.end());
      return Value(Value::Array(all.begin(), all.end()));
    };
    Value::Object all;
    all["problems"] = texts(problems_.sentences(), more_problems_);
    all["notes"] = texts(notes_.sentences(), more_notes_);
    all["result"] = bits_of(result_of(mine_));
    all["seconds"] = mine_.seconds;
    all["peak"] = mine_.peak_bytes;
    add_sizes(all);
    return all;
  }

 private:
  std::string differs_between_steps() const {
    return absl::StrCat(" differs on ", here_,
                        " between two steps with the same batch and the same "
                        "random numbers");
  }

  void add_sizes(Value::Object& all) const {
    std::int64_t parameters = 0;
    std::int64_t gradients = 0;
    std::int64_t count = 0;
    for (const DryStep::Parameter& each : mine_.parameters) {
      parameters += bits_of(each.bytes);
      if (!each.gradient) continue;
      gradients += bits_of(each.bytes);
      ++count;
    }
    all["parameters"] = static_cast<std::int64_t>(mine_.parameters.size());
    all["parameter bytes"] = parameters;
    all["gradients"] = count;
    all["gradient bytes"] = gradients;
  }

  const DryStep& mine_;
  const int rank_;
  const std::string here_;
  Faults problems_;
  Faults notes_;
  std::vector<std::string> more_problems_;
  std::vector<std::string> more_notes_;
};

// --- The report ---

std::string megabytes(std::uint64_t bytes) {
  return absl::StrFormat("%.1f MB", static_cast<double>(bytes) / 1e6);
}

// Sizes are those of rank 0.
std::string summary_of(const std::vector<Value>& ranks) {
  const Value& first = ranks.front();
  const auto bytes = [&](const char* what) {
    return static_cast<std::uint64_t>(first.at(what).as_int());
  };
  const std::size_t size = ranks.size();
  // An allreduce receives (n - 1) / n of the bytes twice.
  const std::uint64_t moved = bytes("gradient bytes") / size * (size - 1) * 2;
  std::string text =
      absl::StrCat(first.at("parameters").as_int(), " parameters, ",
                   megabytes(bytes("parameter bytes")), "; a step reduces ",
                   first.at("gradients").as_int(), " gradients, ",
                   megabytes(bytes("gradient bytes")), ": each of ", size,
                   " ranks sends and receives ", megabytes(moved));
  for (std::size_t rank = 0; rank < size; ++rank) {
    absl::StrAppendFormat(&text, "\nrank %d: %.1f ms for forward and backward",
                          rank, 1e3 * ranks[rank].at("seconds").as_double());
    const std::int64_t peak = ranks[rank].at("peak").as_int();
    if (peak < 0) continue;
    absl::StrAppend(&text, ", ", megabytes(static_cast<std::uint64_t>(peak)),
                    " of tensors at most");
  }
  return text;
}

void append(std::vector<std::string>& texts, const Value& more) {
  for (const Value& each : more.as_array()) texts.push_back(each.as_string());
}

}  // namespace

std::string DryStepReport::text() const {
  std::vector<std::string> lines;
  for (const std::string& each : problems) {
    lines.push_back(absl::StrCat("problem: ", each));
  }
  for (const std::string& each : notes) {
    lines.push_back(absl::StrCat("note: ", each));
  }
  lines.push_back(summary);
  return absl::StrJoin(lines, "\n");
}

DryStepReport compare_dry_steps(Runtime& job, const DryStep& mine,
                                const std::string& name) {
  const int rank = job.topology().rank();
  ObjectOptions options;
  options.runtime = &job;
  options.name = absl::StrCat(name, ".rank 0");
  Value::Array own;
  if (rank == 0) {
    own.push_back(packed(mine.parameters));
    own.push_back(packed(mine.buffers));
  }
  const Value first = broadcast_object(Value(std::move(own)), 0, options);
  Findings findings(mine, rank);
  if (rank != 0) {
    const Parameters parameters = unpacked(first.at(0));
    findings.compare_layouts(mine.parameters, parameters, "parameter");
    findings.compare_layouts(mine.buffers, unpacked(first.at(1)), "buffer");
    findings.compare_order(parameters);
  }
  findings.look_at_numbers();
  options.name = absl::StrCat(name, ".findings");
  const std::vector<Value> ranks = allgather_object(findings.packed(), options);
  DryStepReport report;
  for (const Value& each : ranks) {
    append(report.problems, each.at("problems"));
    append(report.notes, each.at("notes"));
  }
  const bool all_have_one_result =
      std::all_of(ranks.begin(), ranks.end(), [&](const Value& each) {
        return each.at("result") == ranks.front().at("result");
      });
  if (ranks.size() > 1 && all_have_one_result) {
    report.notes.push_back(
        "all ranks have the same loss and gradients: do they read the same "
        "batch?");
  }
  report.summary = summary_of(ranks);
  return report;
}

}  // namespace hvd::replica
