// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/error.h"
#include "horovodpp/checkpoint/plans/overlap_planner.h"
#include "horovodpp/checkpoint/plans/plan.h"
#include "horovodpp/checkpoint/plans/plan_cost.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/status.h"

namespace hvd {
namespace {

using autograd::backward_bytes;
using autograd::keeping_bytes;
using autograd::PairTable;
using autograd::passing_bytes;
using autograd::PlanSlots;
using Part = CheckpointPlan::Part;

// Seconds, in single precision, so that more fit into a vector register.
using Cost = float;
constexpr Cost kNever = std::numeric_limits<Cost>::infinity();

// Also tries up to 1/kMoreSlots more slots than the budget has.
constexpr std::int64_t kMoreSlots = 10;

// The start of a pair of stages: the first stage keeps by an option, or (stage
// > 0) a region ends before `stage`. Encoded as -1-option, or as the stage.
using Choice = std::int32_t;
constexpr Choice kNone = 0;
Choice keeps_by(std::size_t option) {
  return static_cast<Choice>(-1 - static_cast<int>(option));
}
std::size_t option_of(Choice choice) {
  return static_cast<std::size_t>(-1 - choice);
}

// For each of n amounts of memory: takes `by` if it is cheaper than the best so
// far. Branch-free, so that compilers vectorize it.
void offer(Choice by, Cost forward, const Cost* __restrict rest,
           const Cost* __restrict inside, std::int64_t n, Cost* __restrict best,
           Choice* __restrict choice) {
  for (std::int64_t m = 0; m < n; ++m) {
    const Cost total = forward + rest[m] + inside[m];
    choice[m] = total < best[m] ? by : choice[m];
    best[m] = std::min(total, best[m]);
  }
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
  // The plan that needs these bytes.
  CheckpointPlan leanest();
  // The fastest plan found with these slots whose peak is at most `bytes`; no
  // stages if none is found.
  CheckpointPlan fastest(const PlanSlots& slots, std::int64_t bytes);

 private:
  std::int64_t gradient_bytes(std::size_t last) const {
    return chain_.stages[last].output_bytes;
  }
  std::int64_t slots(std::int64_t bytes) const { return sizes_.of(bytes); }

  std::int64_t least_of(std::size_t first, std::size_t last,
                        PairTable<std::int64_t>& least, Choice* choice);
  void fill(std::size_t first, std::size_t last, PairTable<Cost>& cost,
            PairTable<Choice>& choice);
  void consider_keeping(std::size_t first, std::size_t last,
                        PairTable<Cost>& cost, Choice* choice);
  void consider_regions(std::size_t first, std::size_t last,
                        PairTable<Cost>& cost, Choice* choice);
  template <typename ChoiceOf, typename Left>
  std::vector<Part> parts_of(std::size_t first, std::size_t last,
                             std::int64_t memory, const ChoiceOf& choice_of,
                             const Left& left) const;

  const ChainCost& chain_;
  const std::size_t count_;
  std::vector<double> forward_before_;  // Seconds of earlier stages.
  PlanSlots sizes_;
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

// The parts of a plan. `choice_of(first, last, memory)` gives each choice;
// `left(memory, bytes)` is the memory that remains after holding `bytes`.
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
                                         PairTable<Cost>& cost,
                                         Choice* choice) {
  const StageCost& stage = chain_.stages[first];
  Cost* best = cost.at(first, last);
  for (std::size_t o = 0; o < stage.options.size(); ++o) {
    const KeepOption& option = stage.options[o];
    // A range that does not end with the chain ends with a region.
    const double seconds = autograd::keeping_seconds(
        stage, option, first == last && last + 1 < count_);
    const std::int64_t kept = slots(option.bytes);
    KeepOption passing = option;
    passing.bytes = 0;
    // Rounds each sum to slots, so that combined parts fit too.
    const std::int64_t from =
        kept +
        std::max(slots(keeping_bytes(stage, passing, gradient_bytes(last))),
                 slots(backward_bytes(stage, passing)));
    const Cost* rest = first == last ? nullptr : cost.at(first + 1, last);
    for (std::int64_t m = from; m <= slots_; ++m) {
      const auto total =
          static_cast<Cost>(seconds) + (rest == nullptr ? 0 : rest[m - kept]);
      if (total < best[m]) {
        best[m] = total;
        choice[m] = keeps_by(o);
      }
    }
  }
}

void CheckpointPlanner::consider_regions(std::size_t first, std::size_t last,
                                         PairTable<Cost>& cost,
                                         Choice* choice) {
  Cost* best = cost.at(first, last);
  const std::int64_t gradient = gradient_bytes(last);
  std::int64_t passing = 0;
  for (std::size_t end = first + 1; end <= last; ++end) {
    passing =
        std::max(passing, passing_bytes(chain_, end - 1, end - 1 > first));
    const double forward = forward_before_[end] - forward_before_[first];
    const std::int64_t held = slots(autograd::input_bytes(chain_, end));
    const Cost* rest = cost.at(end, last);
    const Cost* inside = cost.at(first, end - 1);
    const std::int64_t from = std::max(held, slots(gradient + passing));
    if (from > slots_) continue;
    offer(static_cast<Choice>(end), static_cast<Cost>(forward),
          rest + (from - held), inside + from, slots_ + 1 - from, best + from,
          choice + from);
  }
}

void CheckpointPlanner::fill(std::size_t first, std::size_t last,
                             PairTable<Cost>& cost, PairTable<Choice>& choice) {
  std::fill_n(cost.at(first, last), slots_ + 1, kNever);
  consider_keeping(first, last, cost, choice.at(first, last));
  consider_regions(first, last, cost, choice.at(first, last));
}

// Sizes are rounded up to slots, so plans with a few more slots may still fit.
// Of these, the one with the most slots is the fastest.
CheckpointPlan CheckpointPlanner::fastest(const PlanSlots& slots_given,
                                          std::int64_t bytes) {
  sizes_ = slots_given;
  slots_ = sizes_.count + std::min(static_cast<std::int64_t>(count_),
                                   sizes_.count / kMoreSlots);
  const auto width = static_cast<std::size_t>(slots_ + 1);
  PairTable<Cost> cost(count_, width);
  PairTable<Choice> choice(count_, width);
  for (std::size_t length = 1; length <= count_; ++length) {
    for (std::size_t first = 0; first + length <= count_; ++first) {
      fill(first, first + length - 1, cost, choice);
    }
  }
  for (std::int64_t memory = slots_; memory >= sizes_.count; --memory) {
    if (cost.at(0, count_ - 1)[memory] == kNever) break;
    CheckpointPlan plan(parts_of(
        0, count_ - 1, memory,
        [&](std::size_t first, std::size_t last, std::int64_t left) {
          return choice.at(first, last)[left];
        },
        [&](std::int64_t left, std::int64_t held) {
          return left - slots(held);
        }));
    if (cost_of(plan, chain_).peak_bytes <= bytes) return plan;
  }
  return CheckpointPlan({});
}

namespace {

bool communicates(const ChainCost& chain) {
  return std::any_of(
      chain.stages.begin(), chain.stages.end(),
      [](const StageCost& stage) { return stage.communication_seconds > 0; });
}

PlanSlots slots_for(const ChainCost& chain, std::int64_t budget,
                    std::int64_t full, std::size_t resolution) {
  auto wanted = static_cast<std::int64_t>(resolution);
  if (communicates(chain)) {
    wanted = std::min(wanted, autograd::most_overlap_slots(chain));
  }
  const std::int64_t bytes = full / wanted + (full % wanted != 0);
  return {.bytes = bytes, .count = budget / bytes};
}

}  // namespace

CheckpointPlan plan_checkpoints(const ChainCost& chain,
                                std::int64_t memory_budget,
                                std::size_t resolution) {
  autograd::check_chain(chain);
  constexpr std::size_t kMaxStages = std::numeric_limits<std::int16_t>::max();
  if (chain.stages.size() > kMaxStages || resolution == 0) {
    throw InvalidArgument(
        absl::StrCat("a checkpoint plan is for at most ", kMaxStages,
                     " stages, and has a resolution of at least 1; these are ",
                     chain.stages.size(), " stages and ", resolution));
  }
  const CheckpointPlan keep_all = CheckpointPlan::keep_all(chain.stages.size());
  const std::int64_t full = cost_of(keep_all, chain).peak_bytes;
  if (full <= memory_budget) return keep_all;
  CheckpointPlanner planner(chain);
  const std::int64_t least = least_memory(chain);
  if (least > memory_budget) {
    throw Error(absl::ResourceExhaustedError(
        absl::StrCat("no checkpoint plan of these ", chain.stages.size(),
                     " stages fits ", memory_budget,
                     " bytes; the least that is needed is ", least, " bytes")));
  }
  // The slot size is the same for every budget, so that a larger budget never
  // allows less. Rounding up to slots may exclude a plan that just fits, so the
  // leanest plan is a candidate too.
  const PlanSlots slots = slots_for(chain, memory_budget, full, resolution);
  const CheckpointPlan plan = communicates(chain)
                                  ? autograd::plan_with_overlap(chain, slots)
                                  : planner.fastest(slots, memory_budget);
  const CheckpointPlan leanest = planner.leanest();
  if (plan.stages() == 0) return leanest;
  return cost_of(leanest, chain).step_seconds <
                 cost_of(plan, chain).step_seconds
             ? leanest
             : plan;
}

std::int64_t least_memory(const ChainCost& chain) {
  autograd::check_chain(chain);
  return *CheckpointPlanner(chain).least_bytes().at(0, chain.stages.size() - 1);
}

}  // namespace hvd
