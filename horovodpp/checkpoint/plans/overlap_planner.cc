// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/checkpoint/plans/overlap_planner.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/checkpoint/plans/plan_cost.h"

namespace hvd::autograd {
namespace {

// One thread computes, and one communicates: stage after stage from the last to
// the first, each after its backward. So a step ends at
//   max over stages k of (end of k's backward + communication of stages k to 0)
// Running first..last takes `busy` seconds of computation. `ended` is that
// maximum over first..last, counted from their start. A smaller `busy` may need
// a larger `ended`: long work is harmless if it runs late, while early work
// delays others. So the planner's table (planner.cc) has, for each pair of
// stages and amount of memory, all ways that are Pareto-optimal in both:
//
//   keep first, and `rest` = a way of first+1..last:
//     busy = forward + rest.busy + backward
//     ended = max(forward + rest.ended, busy + communication of first to 0)
//   a region before `end`, `rest` = a way of end..last, and
//   `inside` = a way of first..end-1:
//     busy = forward of the region + rest.busy + inside.busy
//     ended = max(forward + rest.ended, forward + rest.busy + inside.ended)
struct Way {
  double busy = 0.0;
  double ended = 0.0;
  // The option by which first keeps, or (is_region) the start of the rest.
  std::uint32_t choice = 0;
  bool is_region = false;
  std::uint16_t rest = 0;  // Index among the ways of the rest.
  std::uint16_t inside = 0;
};

// A Pareto front: no way is worse than another in both `busy` and `ended`.
class Front {
 public:
  void offer(const Way& way) {
    for (const Way& other : ways_) {
      if (other.busy <= way.busy && other.ended <= way.ended) return;
    }
    std::erase_if(ways_, [&](const Way& other) {
      return way.busy <= other.busy && way.ended <= other.ended;
    });
    if (ways_.size() < kMost) ways_.push_back(way);
  }
  void clear() { ways_.clear(); }
  const std::vector<Way>& ways() const { return ways_; }

 private:
  static constexpr std::size_t kMost =
      std::numeric_limits<std::uint16_t>::max();
  std::vector<Way> ways_;
};

// The fronts of one pair of stages, one per amount of memory, concatenated.
struct Fronts {
  std::vector<std::uint32_t> begin{0};
  std::vector<Way> ways;

  void add(const Front& front) {
    ways.insert(ways.end(), front.ways().begin(), front.ways().end());
    begin.push_back(static_cast<std::uint32_t>(ways.size()));
  }
  std::uint16_t count(std::int64_t memory) const {
    const auto m = static_cast<std::size_t>(memory);
    return static_cast<std::uint16_t>(begin[m + 1] - begin[m]);
  }
  const Way& at(std::int64_t memory, std::uint16_t which) const {
    return ways[begin[static_cast<std::size_t>(memory)] + which];
  }
};

class OverlapPlanner {
 public:
  OverlapPlanner(const ChainCost& chain, const PlanSlots& slots)
      : chain_(chain),
        slots_(slots),
        count_(chain.stages.size()),
        fronts_(count_, 1) {
    forward_before_.push_back(0.0);
    double communication = 0.0;
    for (const StageCost& stage : chain.stages) {
      forward_before_.push_back(forward_before_.back() + stage.forward_seconds);
      communication += stage.communication_seconds;
      communication_to_.push_back(communication);
    }
  }

  // The plan as text; empty if none is found.
  std::string plan() {
    for (std::size_t length = 1; length <= count_; ++length) {
      for (std::size_t first = 0; first + length <= count_; ++first) {
        fill(first, first + length - 1);
      }
    }
    const Fronts& all = *fronts_.at(0, count_ - 1);
    std::uint16_t best = 0;
    for (std::uint16_t i = 0; i < all.count(slots_.count); ++i) {
      if (all.at(slots_.count, i).ended < all.at(slots_.count, best).ended) {
        best = i;
      }
    }
    if (all.count(slots_.count) == 0) return "";
    return text_of(0, count_ - 1, slots_.count, best);
  }

 private:
  void fill(std::size_t first, std::size_t last) {
    Fronts& fronts = *fronts_.at(first, last);
    std::vector<std::int64_t> region_from(count_);
    std::int64_t passing = 0;
    for (std::size_t end = first + 1; end <= last; ++end) {
      passing =
          std::max(passing, passing_bytes(chain_, end - 1, end - 1 > first));
      region_from[end] =
          std::max(slots_.of(input_bytes(chain_, end)),
                   slots_.of(chain_.stages[last].output_bytes + passing));
    }
    Front front;
    for (std::int64_t memory = 0; memory <= slots_.count; ++memory) {
      front.clear();
      keep(first, last, memory, front);
      for (std::size_t end = first + 1; end <= last; ++end) {
        if (memory >= region_from[end]) region(first, end, last, memory, front);
      }
      fronts.add(front);
    }
  }

  void keep(std::size_t first, std::size_t last, std::int64_t memory,
            Front& front) const {
    const StageCost& stage = chain_.stages[first];
    for (std::size_t o = 0; o < stage.options.size(); ++o) {
      const KeepOption& option = stage.options[o];
      KeepOption passing = option;
      passing.bytes = 0;
      const std::int64_t kept = slots_.of(option.bytes);
      const std::int64_t gradient = chain_.stages[last].output_bytes;
      const std::int64_t needed =
          kept + std::max(slots_.of(keeping_bytes(stage, passing, gradient)),
                          slots_.of(backward_bytes(stage, passing)));
      if (memory < needed) continue;
      const double own =
          keeping_seconds(stage, option, first == last && last + 1 < count_);
      const auto choice = static_cast<std::uint32_t>(o);
      if (first == last) {
        front.offer({own, own + communication_to_[first], choice});
        continue;
      }
      const Fronts& behind = *fronts_.at(first + 1, last);
      for (std::uint16_t i = 0; i < behind.count(memory - kept); ++i) {
        const Way& rest = behind.at(memory - kept, i);
        const double busy = own + rest.busy;
        front.offer({busy,
                     std::max(stage.forward_seconds + rest.ended,
                              busy + communication_to_[first]),
                     choice, false, i});
      }
    }
  }

  void region(std::size_t first, std::size_t end, std::size_t last,
              std::int64_t memory, Front& front) const {
    const double forward = forward_before_[end] - forward_before_[first];
    const std::int64_t left = memory - slots_.of(input_bytes(chain_, end));
    const Fronts& behind = *fronts_.at(end, last);
    const Fronts& within = *fronts_.at(first, end - 1);
    for (std::uint16_t i = 0; i < behind.count(left); ++i) {
      const Way& rest = behind.at(left, i);
      const double begin = forward + rest.busy;
      for (std::uint16_t j = 0; j < within.count(memory); ++j) {
        const Way& inside = within.at(memory, j);
        front.offer({begin + inside.busy,
                     std::max(forward + rest.ended, begin + inside.ended),
                     static_cast<std::uint32_t>(end), true, i, j});
      }
    }
  }

  std::string text_of(std::size_t first, std::size_t last, std::int64_t memory,
                      std::uint16_t which) const {
    std::string text;
    while (true) {
      const Way& way = fronts_.at(first, last)->at(memory, which);
      which = way.rest;
      if (way.is_region) {
        const std::size_t end = way.choice;
        absl::StrAppend(&text, "(", text_of(first, end - 1, memory, way.inside),
                        ") ");
        memory -= slots_.of(input_bytes(chain_, end));
        first = end;
        continue;
      }
      absl::StrAppend(&text, first, ":", way.choice, " ");
      if (first == last) return text;
      memory -= slots_.of(chain_.stages[first].options[way.choice].bytes);
      ++first;
    }
  }

  const ChainCost& chain_;
  const PlanSlots slots_;
  const std::size_t count_;
  PairTable<Fronts> fronts_;
  std::vector<double> forward_before_;    // Seconds of earlier stages.
  std::vector<double> communication_to_;  // Seconds through this stage.
};

}  // namespace

CheckpointPlan plan_with_overlap(const ChainCost& chain,
                                 const PlanSlots& slots) {
  const std::string text = OverlapPlanner(chain, slots).plan();
  return text.empty() ? CheckpointPlan::keep_all(0)
                      : CheckpointPlan::parse(text);
}

std::int64_t most_overlap_slots(const ChainCost& chain) {
  // Bound of the table's size; each cell has a few ways.
  constexpr std::size_t kCells = 1 << 19;
  const std::size_t pairs = chain.stages.size() * (chain.stages.size() + 1) / 2;
  return static_cast<std::int64_t>(std::max<std::size_t>(16, kCells / pairs));
}

}  // namespace hvd::autograd
