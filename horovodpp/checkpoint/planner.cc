// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/error.h"
#include "horovodpp/checkpoint/plan.h"
#include "horovodpp/checkpoint/plan_cost.h"

namespace hvd {
namespace {

using autograd::backward_bytes;
using autograd::keeping_bytes;
using autograd::passing_bytes;
using Part = CheckpointPlan::Part;

constexpr double kNever = std::numeric_limits<double>::infinity();

// A table over pairs first <= last.
template <typename T>
class PairTable {
 public:
  PairTable(std::size_t count, std::size_t width)
      : count_(count),
        width_(width),
        values_(count * (count + 1) / 2 * width) {}
  T* at(std::size_t first, std::size_t last) {
    return values_.data() +
           (first * (2 * count_ - first + 1) / 2 + last - first) * width_;
  }

 private:
  std::size_t count_, width_;
  std::vector<T> values_;
};

// What a pair of stages begins with: an option by which the first stage keeps, or
// (stage > 0) a region that ends before `stage`. As one number: -1-option, or the
// stage.
using Choice = std::int16_t;
constexpr Choice kNone = 0;
Choice keeps_by(std::size_t option) {
  return static_cast<Choice>(-1 - static_cast<int>(option));
}
std::size_t option_of(Choice choice) {
  return static_cast<std::size_t>(-1 - choice);
}

}  // namespace

class CheckpointPlanner {
 public:
  explicit CheckpointPlanner(const ChainCost& chain)
      : chain_(chain), count_(chain.stages.size()) {
    forward_before_.push_back(0.0);
    for (const StageCost& stage : chain.stages) {
      forward_before_.push_back(forward_before_.back() + stage.forward_seconds);
    }
  }

  // The least bytes of a plan for first..last, for all pairs.
  PairTable<std::int64_t> least_bytes();
  // The plan that gets by with these.
  CheckpointPlan leanest();
  // The fastest within `budget`; no stages if none is found.
  CheckpointPlan fastest(std::int64_t budget, std::size_t resolution);

 private:
  std::int64_t gradient_bytes(std::size_t last) const {
    return chain_.stages[last].output_bytes;
  }
  std::int64_t slots(std::int64_t bytes) const {
    return bytes / slot_bytes_ + (bytes % slot_bytes_ != 0);
  }

  std::int64_t least_of(std::size_t first, std::size_t last,
                        PairTable<std::int64_t>& least, Choice* choice);
  void fill(std::size_t first, std::size_t last, PairTable<double>& cost,
            PairTable<Choice>& choice);
  void consider_keeping(std::size_t first, std::size_t last,
                        PairTable<double>& cost, Choice* choice);
  void consider_regions(std::size_t first, std::size_t last,
                        PairTable<double>& cost, Choice* choice);
  template <typename ChoiceOf, typename Left>
  std::vector<Part> parts_of(std::size_t first, std::size_t last,
                             std::int64_t memory, const ChoiceOf& choice_of,
                             const Left& left) const;

  const ChainCost& chain_;
  const std::size_t count_;
  std::vector<double> forward_before_;  // Seconds of all stages before.
  std::int64_t slot_bytes_ = 1;
  std::int64_t slots_ = 0;
};

std::int64_t CheckpointPlanner::least_of(std::size_t first, std::size_t last,
                                         PairTable<std::int64_t>& least,
                                         Choice* choice) {
  const StageCost& stage = chain_.stages[first];
  const std::int64_t gradient = gradient_bytes(last);
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  const auto offer = [&](std::int64_t bytes, Choice by) {
    if (bytes >= best) return;
    best = bytes;
    *choice = by;
  };
  for (std::size_t o = 0; o < stage.options.size(); ++o) {
    const KeepOption& option = stage.options[o];
    const std::int64_t rest =
        first == last ? 0 : option.bytes + *least.at(first + 1, last);
    offer(std::max({keeping_bytes(stage, option, gradient),
                    backward_bytes(stage, option), rest}),
          keeps_by(o));
  }
  std::int64_t passing = 0;
  for (std::size_t end = first + 1; end <= last; ++end) {
    passing =
        std::max(passing, passing_bytes(chain_, end - 1, end - 1 > first));
    offer(std::max({gradient + passing,
                    autograd::input_bytes(chain_, end) + *least.at(end, last),
                    *least.at(first, end - 1)}),
          static_cast<Choice>(end));
  }
  return best;
}

PairTable<std::int64_t> CheckpointPlanner::least_bytes() {
  PairTable<std::int64_t> least(count_, 1);
  Choice ignored = kNone;
  for (std::size_t length = 1; length <= count_; ++length) {
    for (std::size_t first = 0; first + length <= count_; ++first) {
      const std::size_t last = first + length - 1;
      *least.at(first, last) = least_of(first, last, least, &ignored);
    }
  }
  return least;
}

// `choice_of(first, last, memory)`, and `left(memory, bytes)`: the memory after
// holding so many bytes.
template <typename ChoiceOf, typename Left>
std::vector<Part> CheckpointPlanner::parts_of(std::size_t first,
                                              std::size_t last,
                                              std::int64_t memory,
                                              const ChoiceOf& choice_of,
                                              const Left& left) const {
  std::vector<Part> parts;
  while (true) {
    const Choice choice = choice_of(first, last, memory);
    if (choice < 0) {
      const std::size_t option = option_of(choice);
      parts.push_back({.first = first, .last = first, .option = option});
      if (first == last) return parts;
      memory = left(memory, chain_.stages[first].options[option].bytes);
      ++first;
      continue;
    }
    const auto end = static_cast<std::size_t>(choice);
    parts.push_back(
        {.first = first,
         .last = end - 1,
         .inside = parts_of(first, end - 1, memory, choice_of, left)});
    memory = left(memory, autograd::input_bytes(chain_, end));
    first = end;
  }
}

CheckpointPlan CheckpointPlanner::leanest() {
  PairTable<std::int64_t> least = least_bytes();
  return CheckpointPlan(parts_of(
      0, count_ - 1, 0,
      [&](std::size_t first, std::size_t last, std::int64_t /*memory*/) {
        Choice choice = kNone;
        least_of(first, last, least, &choice);
        return choice;
      },
      [](std::int64_t memory, std::int64_t /*bytes*/) { return memory; }));
}

void CheckpointPlanner::consider_keeping(std::size_t first, std::size_t last,
                                         PairTable<double>& cost,
                                         Choice* choice) {
  const StageCost& stage = chain_.stages[first];
  double* best = cost.at(first, last);
  for (std::size_t o = 0; o < stage.options.size(); ++o) {
    const KeepOption& option = stage.options[o];
    const double seconds =
        stage.forward_seconds + stage.backward_seconds + option.extra_seconds;
    const std::int64_t kept = slots(option.bytes);
    KeepOption passing = option;
    passing.bytes = 0;
    // In slots each of the sums, so that the parts fit together, too.
    const std::int64_t from =
        kept +
        std::max(slots(keeping_bytes(stage, passing, gradient_bytes(last))),
                 slots(backward_bytes(stage, passing)));
    const double* rest = first == last ? nullptr : cost.at(first + 1, last);
    for (std::int64_t m = from; m <= slots_; ++m) {
      const double total = seconds + (rest == nullptr ? 0.0 : rest[m - kept]);
      if (total < best[m]) {
        best[m] = total;
        choice[m] = keeps_by(o);
      }
    }
  }
}

void CheckpointPlanner::consider_regions(std::size_t first, std::size_t last,
                                         PairTable<double>& cost,
                                         Choice* choice) {
  double* best = cost.at(first, last);
  const std::int64_t gradient = gradient_bytes(last);
  std::int64_t passing = 0;
  for (std::size_t end = first + 1; end <= last; ++end) {
    passing =
        std::max(passing, passing_bytes(chain_, end - 1, end - 1 > first));
    const double forward = forward_before_[end] - forward_before_[first];
    const std::int64_t held = slots(autograd::input_bytes(chain_, end));
    const double* rest = cost.at(end, last);
    const double* inside = cost.at(first, end - 1);
    const auto here = static_cast<Choice>(end);
    for (std::int64_t m = std::max(held, slots(gradient + passing));
         m <= slots_; ++m) {
      const double total = forward + rest[m - held] + inside[m];
      if (total < best[m]) {
        best[m] = total;
        choice[m] = here;
      }
    }
  }
}

void CheckpointPlanner::fill(std::size_t first, std::size_t last,
                             PairTable<double>& cost,
                             PairTable<Choice>& choice) {
  std::fill_n(cost.at(first, last), slots_ + 1, kNever);
  consider_keeping(first, last, cost, choice.at(first, last));
  consider_regions(first, last, cost, choice.at(first, last));
}

CheckpointPlan CheckpointPlanner::fastest(std::int64_t budget,
                                          std::size_t resolution) {
  slots_ = static_cast<std::int64_t>(resolution);
  slot_bytes_ = std::max<std::int64_t>(1, budget / slots_);
  slots_ = budget / slot_bytes_;
  const auto width = static_cast<std::size_t>(slots_ + 1);
  PairTable<double> cost(count_, width);
  PairTable<Choice> choice(count_, width);
  for (std::size_t length = 1; length <= count_; ++length) {
    for (std::size_t first = 0; first + length <= count_; ++first) {
      fill(first, first + length - 1, cost, choice);
    }
  }
  if (cost.at(0, count_ - 1)[slots_] == kNever) return CheckpointPlan({});
  return CheckpointPlan(parts_of(
      0, count_ - 1, slots_,
      [&](std::size_t first, std::size_t last, std::int64_t memory) {
        return choice.at(first, last)[memory];
      },
      [&](std::int64_t memory, std::int64_t bytes) {
        return memory - slots(bytes);
      }));
}

CheckpointPlan plan_checkpoints(const ChainCost& chain,
                                std::int64_t memory_budget,
                                std::size_t resolution) {
  autograd::check_chain(chain);
  constexpr std::size_t kMostStages = std::numeric_limits<Choice>::max();
  if (chain.stages.size() > kMostStages || resolution == 0) {
    throw InvalidArgument(
        absl::StrCat("a checkpoint plan is for at most ", kMostStages,
                     " stages, and has a resolution of at least 1; these are ",
                     chain.stages.size(), " stages and ", resolution));
  }
  const CheckpointPlan keep_all = CheckpointPlan::keep_all(chain.stages.size());
  if (cost_of(keep_all, chain).peak_bytes <= memory_budget) return keep_all;
  CheckpointPlanner planner(chain);
  const std::int64_t least = least_memory(chain);
  if (least > memory_budget) {
    throw Error(absl::ResourceExhaustedError(
        absl::StrCat("no checkpoint plan of these ", chain.stages.size(),
                     " stages fits ", memory_budget,
                     " bytes; the least that is needed is ", least, " bytes")));
  }
  CheckpointPlan plan = planner.fastest(memory_budget, resolution);
  // By rounding up to slots, what just fits may not.
  return plan.stages() == 0 ? planner.leanest() : plan;
}

std::int64_t least_memory(const ChainCost& chain) {
  autograd::check_chain(chain);
  return *CheckpointPlanner(chain).least_bytes().at(0, chain.stages.size() - 1);
}

}  // namespace hvd
