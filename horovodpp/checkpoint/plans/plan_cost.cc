// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/checkpoint/plans/plan_cost.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/error.h"

namespace hvd {
namespace autograd {
namespace {

bool is_time(double seconds) { return std::isfinite(seconds) && seconds >= 0; }

bool makes_sense(const StageCost& stage) {
  return is_time(stage.forward_seconds) && is_time(stage.backward_seconds) &&
         is_time(stage.communication_seconds) && stage.output_bytes >= 0 &&
         stage.forward_transient_bytes >= 0 &&
         stage.backward_transient_bytes >= 0 && !stage.options.empty() &&
         std::all_of(stage.options.begin(), stage.options.end(),
                     [&stage](const KeepOption& option) {
                       return option.bytes >= 0 &&
                              option.extra_transient_bytes >= 0 &&
                              is_time(option.extra_seconds) &&
                              is_time(option.tail_seconds) &&
                              option.tail_seconds <= stage.forward_seconds;
                     });
}

// Simulates a plan.
class Account {
 public:
  // Records the steps in `timeline` unless it is null.
  Account(const ChainCost& chain, std::vector<PlanStep>* timeline)
      : chain_(chain), timeline_(timeline) {}

  // Forward and backward through `parts`.
  void run(const std::vector<CheckpointPlan::Part>& parts) {
    const std::int64_t gradient = chain_.stages[parts.back().last].output_bytes;
    for (const auto& part : parts) {
      forward(part, gradient, replays_ && &part == &parts.back());
    }
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
      backward(*part);
    }
  }
  // Replays the parts of a region in backward. A region at the end needs only
  // its input.
  void replay(const std::vector<CheckpointPlan::Part>& parts) {
    replays_ = true;
    if (!parts.back().is_region()) return run(parts);
    const std::int64_t gradient = chain_.stages[parts.back().last].output_bytes;
    for (auto part = parts.begin(); part + 1 != parts.end(); ++part) {
      forward(*part, gradient, false);
    }
    replay(parts.back().inside);
    for (auto part = parts.rbegin() + 1; part != parts.rend(); ++part) {
      backward(*part);
    }
  }
  PlanCost total() const {
    PlanCost total = total_;
    total.step_seconds = std::max(total.seconds, communicated_);
    return total;
  }

 private:
  using Kind = PlanStep::Kind;

  // Adds a step of `kind` with this time and these bytes beyond those held.
  void spend(Kind kind, std::size_t stage, double seconds, std::int64_t bytes) {
    total_.peak_bytes = std::max(total_.peak_bytes, held_ + bytes);
    const double begin = total_.seconds;
    total_.seconds += seconds;
    if (timeline_ != nullptr) {
      timeline_->push_back({kind, stage, begin, total_.seconds, held_ + bytes});
    }
  }
  void communicate(std::size_t stage) {
    const double begin = std::max(communicated_, total_.seconds);
    const double seconds = chain_.stages[stage].communication_seconds;
    communicated_ = begin + seconds;
    if (timeline_ != nullptr && seconds > 0) {
      timeline_->push_back(
          {Kind::kCommunication, stage, begin, communicated_, 0});
    }
  }
  Kind forward_kind() const {
    return replays_ ? Kind::kRecomputation : Kind::kForward;
  }

  // `ends_region`: the recomputation stops after the part's last saved tensor.
  void forward(const CheckpointPlan::Part& part, std::int64_t gradient,
               bool ends_region) {
    if (part.is_region()) {
      for (std::size_t i = part.first; i <= part.last; ++i) {
        spend(forward_kind(), i, chain_.stages[i].forward_seconds,
              gradient + passing_bytes(chain_, i, i > part.first));
      }
      held_ += chain_.stages[part.last].output_bytes;
      return;
    }
    const StageCost& stage = chain_.stages[part.first];
    const KeepOption& option = stage.options[part.option];
    const double left_out = ends_region ? option.tail_seconds : 0.0;
    spend(forward_kind(), part.first, stage.forward_seconds - left_out,
          keeping_bytes(stage, option, gradient));
    held_ += option.bytes;
  }

  void backward(const CheckpointPlan::Part& part) {
    if (part.is_region()) {
      held_ -= chain_.stages[part.last].output_bytes;
      replay(part.inside);
      return;
    }
    const StageCost& stage = chain_.stages[part.first];
    const KeepOption& option = stage.options[part.option];
    held_ -= option.bytes;
    spend(Kind::kBackward, part.first,
          stage.backward_seconds + option.extra_seconds,
          backward_bytes(stage, option));
    communicate(part.first);
  }

  const ChainCost& chain_;
  std::vector<PlanStep>* const timeline_;
  bool replays_ = false;  // Forward is over.
  PlanCost total_;
  double communicated_ = 0.0;  // End of communication so far.
  std::int64_t held_ = 0;
};

}  // namespace

void check_chain(const ChainCost& chain) {
  if (chain.stages.empty()) {
    throw InvalidArgument("a checkpoint plan of a chain without stages");
  }
  for (std::size_t i = 0; i < chain.stages.size(); ++i) {
    if (makes_sense(chain.stages[i])) continue;
    throw InvalidArgument(
        absl::StrCat("a checkpoint plan: stage ", i,
                     " has no option, or a negative or non-finite number"));
  }
  if (chain.input_bytes < 0) {
    throw InvalidArgument("a checkpoint plan: the input has negative bytes");
  }
}

PlanCost account_of(const CheckpointPlan& plan, const ChainCost& chain,
                    std::vector<PlanStep>* timeline) {
  check_chain(chain);
  if (plan.stages() != chain.stages.size()) {
    throw InvalidArgument(absl::StrCat("a plan for ", plan.stages(),
                                       " stages and a chain of ",
                                       chain.stages.size()));
  }
  Account account(chain, timeline);
  account.run(plan.parts());
  return account.total();
}

}  // namespace autograd

PlanCost cost_of(const CheckpointPlan& plan, const ChainCost& chain) {
  return autograd::account_of(plan, chain, nullptr);
}

}  // namespace hvd
